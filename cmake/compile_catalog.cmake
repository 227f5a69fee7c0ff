# gpuwright_compile_catalog(target): turns catalog/*.toml into constants of the
# target when the program is built, see docs/decisions/0003-catalogue-in-the-binary.md.
# The reader of TOML is a library of its own, because the compiler of constants
# and the program both use it, and the program also needs the constants. When
# cross-compiling, CMAKE_CROSSCOMPILING_EMULATOR runs the compiler of constants.
function(gpuwright_compile_catalog target)
  add_library(catalog_toml STATIC ${PROJECT_SOURCE_DIR}/src/catalog/toml/read_toml.cpp)
  target_link_libraries(catalog_toml PUBLIC room_base)
  add_executable(compile_catalog ${PROJECT_SOURCE_DIR}/tools/compile_catalog.cpp)
  target_link_libraries(compile_catalog PRIVATE catalog_toml)

  file(GLOB files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/catalog/*.toml)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/catalog_tables.cpp)
  add_custom_command(
    OUTPUT ${out}
    COMMAND compile_catalog ${out} ${files}
    DEPENDS compile_catalog ${files}
    VERBATIM)
  target_sources(${target} PRIVATE ${out})
  target_link_libraries(${target} PUBLIC catalog_toml)
endfunction()
