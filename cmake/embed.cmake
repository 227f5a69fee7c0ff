# gpuwright_embed(target name glob): compiles the files into the target as one
# table `extern const EmbeddedFile k_<name>[]` (see base/embedded.h), sorted by
# file name. Texts only; a raw string per 8 KiB keeps within the limits of every
# compiler.
function(gpuwright_embed target name glob)
  file(GLOB files CONFIGURE_DEPENDS ${glob})
  list(SORT files)
  set(out ${CMAKE_CURRENT_BINARY_DIR}/embedded_${name}.cpp)
  add_custom_command(
    OUTPUT ${out}
    COMMAND ${CMAKE_COMMAND} -DOUT=${out} -DNAME=${name} "-DFILES=${files}"
            -P ${PROJECT_SOURCE_DIR}/cmake/embed_script.cmake
    DEPENDS ${files} ${PROJECT_SOURCE_DIR}/cmake/embed_script.cmake
    VERBATIM)
  target_sources(${target} PRIVATE ${out})
endfunction()
