#pragma once

namespace gpuwright {

/// Runs the command line; the exit status of docs/exit-status.md.
int run_command_line(int argc, char** argv);

}  // namespace gpuwright
