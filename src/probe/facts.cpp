#include "probe/facts.h"

#include <cerrno>

#include "base/text.h"

namespace gpuwright {

Result<SourcedText> read_first(const System& system, std::initializer_list<const char*> paths) {
  Error last{"No such file or directory", "", ENOENT};
  for (const std::string path : paths) {
    auto text = system.read(path);
    if (text) return SourcedText{std::move(*text), path};
    last = text.error();
    if (!is_not_there(last)) break;
  }
  return tl::unexpected<Error>(std::move(last));
}

Fact<std::string> text_fact(const System& system, const std::string& path) {
  const auto text = system.read(path);
  if (!text) return Fact<std::string>::from_error(path, text.error());
  return Fact<std::string>::known(printable(trim(*text)), path);
}

bool exists(const System& system, const std::string& path) {
  return system.status(path).has_value();
}

bool has_proc(const System& system) {
  for (const auto* path : {"/proc/version", "/proc/modules", "/proc/devices", "/proc/self/status"})
    if (exists(system, path)) return true;
  return false;
}

Fact<std::string> variable_fact(const System& system, const std::string& name) {
  const auto block = system.environment();
  const std::string source = "environment variable " + name;
  if (!block) return Fact<std::string>::unknown(source, block.error().message);
  const auto found = block->find(name);
  if (found == block->end()) return Fact<std::string>::absent(source);
  return Fact<std::string>::known(found->second, source);
}

}  // namespace gpuwright
