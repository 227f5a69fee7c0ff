#include <dlfcn.h>
#include <link.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

// Opens what it is told to and says what became of it. Arguments come in pairs: who calls ("main"
// or the number of an earlier pair, whose library or one of its dependencies has open_from_here),
// and the name. Prints, for the start and after each pair:
//   CALLER path of the calling object     OK | ERROR dlerror's text     NONE: no such function
//   MAPPED link map's name                FILE path in /proc/self/maps
namespace {

using Open = void* (*)(const char*);

void* open_from_main(const char* name) { return dlopen(name, RTLD_NOW | RTLD_LOCAL); }

int print_name(dl_phdr_info* info, std::size_t, void*) {
  std::printf("MAPPED %s\n", info->dlpi_name);
  return 0;
}

void print_maps() {
  dl_iterate_phdr(print_name, nullptr);
  std::FILE* maps = std::fopen("/proc/self/maps", "r");
  static char line[8192];
  while (maps != nullptr && std::fgets(line, sizeof line, maps) != nullptr)
    if (const char* path = std::strchr(line, '/')) std::printf("FILE %s", path);
  if (maps != nullptr) std::fclose(maps);
}

Open opener_of(const char* who, void** handles, int made) {
  if (std::strcmp(who, "main") == 0) return open_from_main;
  const int number = std::atoi(who);
  if (number < 0 || number >= made || handles[number] == nullptr) return nullptr;
  return reinterpret_cast<Open>(dlsym(handles[number], "open_from_here"));
}

}  // namespace

int main(int argc, char** argv) {
  static void* handles[256];
  print_maps();
  int made = 0;
  for (int i = 1; i + 1 < argc && made < 256; i += 2, ++made) {
    std::printf("STEP\n");
    const Open open = opener_of(argv[i], handles, made);
    if (open == nullptr) {
      std::printf("NONE\n");
      continue;
    }
    Dl_info info;
    if (dladdr(reinterpret_cast<void*>(open), &info) != 0)
      std::printf("CALLER %s\n", info.dli_fname);
    handles[made] = open(argv[i + 1]);
    const char* error = handles[made] == nullptr ? dlerror() : nullptr;
    if (error != nullptr)
      std::printf("ERROR %s\n", error);
    else
      std::printf("OK\n");
    print_maps();
  }
  return 0;
}
