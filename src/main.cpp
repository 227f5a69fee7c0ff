#include "cli/cli.h"

int main(int argc, char** argv) { return gpuwright::run_command_line(argc, argv); }
