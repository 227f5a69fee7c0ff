# Writes the manual pages and the completion scripts that the program prints, below OUT as they lie
# below the prefix. Run as `cmake -DPROGRAM=... -DOUT=... -P generated_pages.cmake`. The overview's
# SEE ALSO names the pages there are.
function(write_output file)
  execute_process(COMMAND ${PROGRAM} ${ARGN} OUTPUT_VARIABLE text RESULT_VARIABLE status)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "gpuwright ${ARGN}: status ${status}")
  endif()
  file(WRITE ${OUT}/share/${file} "${text}")
endfunction()

execute_process(COMMAND ${PROGRAM} man OUTPUT_VARIABLE overview)
string(REGEX MATCHALL "gpuwright..[a-z]+ \\(1\\)" names "${overview}")
write_output(man/man1/gpuwright.1 man)
foreach(name IN LISTS names)
  string(REGEX REPLACE "gpuwright..([a-z]+) .*" "\\1" command "${name}")
  write_output(man/man1/gpuwright-${command}.1 man ${command})
endforeach()
write_output(bash-completion/completions/gpuwright completion bash)
write_output(zsh/site-functions/_gpuwright completion zsh)
write_output(fish/vendor_completions.d/gpuwright.fish completion fish)
