// ELF objects: what the loader model and the probe of kernel modules read of them.

#include "loader/elf.h"

#include "fuzz/fuzz.h"
#include "probe/driver_modules.h"

using namespace gpuwright;          // NOLINT(google-build-using-namespace)
using namespace gpuwright::fuzz;    // NOLINT(google-build-using-namespace)
using namespace gpuwright::loader;  // NOLINT(google-build-using-namespace)

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes file(text_of(data, size));
  const auto any = read_elf(file);
  for (const loader::Host host : {loader::Host{2, 62}, {2, 183}, {1, 3}}) {
    const auto fitting = read_elf(file, host);
    if (!fitting) continue;
    require(any.has_value(), "what a process can map can be read");
    require(fitting->elf_class == host.elf_class && fitting->machine == host.machine,
            "only objects of the process's own kind are taken");
    require(fitting->needed == any->needed && fitting->soname == any->soname,
            "the kind of the process changes nothing in the answer");
  }
  if (any)
    for (const auto& name : any->needed)
      require(name.size() <= size && name.find('\0') == std::string::npos,
              "a needed name is a text of the file");
  use(defines_symbol(file, "cuInit"));
  use(forward_compatibility_note(file));
  const auto section = read_elf_section(file, ".modinfo", 1 << 16);
  if (section) require(section->size() <= size, "a section lies in the file");
  return 0;
}
