# Called by gpuwright_embed: OUT, NAME, FILES. Writes an assembler-free table by
# way of `.incbin`, which copies bytes exactly and costs no compile time.
set(text "#include \"base/embedded.h\"\n\n")
set(rows "")
set(count 0)
foreach(file ${FILES})
  get_filename_component(stem ${file} NAME_WE)
  get_filename_component(full ${file} NAME)
  string(REGEX REPLACE "\\.[a-z]+$" "" stem ${full})
  string(APPEND text
    "__asm__(\".section .rodata\\n.global ${NAME}_${count}\\n.global ${NAME}_${count}_end\\n\"\n"
    "        \"${NAME}_${count}:\\n.incbin \\\"${file}\\\"\\n${NAME}_${count}_end:\\n.byte 0\\n.previous\\n\");\n"
    "extern \"C\" const char ${NAME}_${count}[];\nextern \"C\" const char ${NAME}_${count}_end[];\n")
  string(APPEND rows "    {\"${stem}\", ${NAME}_${count}, ${NAME}_${count}_end},\n")
  math(EXPR count "${count} + 1")
endforeach()
string(APPEND text "\nnamespace gpuwright {\n"
  "extern const EmbeddedFile k_${NAME}[] = {\n${rows}    {nullptr, nullptr, nullptr}};\n"
  "}  // namespace gpuwright\n")
file(WRITE ${OUT} "${text}")
