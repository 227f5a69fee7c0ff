#include "cli/cli.h"
namespace gpuwright { int run_command_line(int, char**) { return 2; } }
