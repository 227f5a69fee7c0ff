#include "probe/cuda_toolkits.h"

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "probe/cuda.h"
#include "probe/facts.h"

namespace gpuwright {
namespace {

constexpr const char* kLink = "/usr/local/cuda";
// CUDA_VERSION stands after the licence and the introduction, at 14 kB in CUDA 13.0.
constexpr std::size_t kHeaderStart = 128 << 10;

std::optional<Version> version_of(std::string_view text) {
  const auto version = Version::parse(text);
  return version ? std::optional(*version) : std::nullopt;
}

// The text between the next pair of quotation marks.
std::optional<std::string_view> quoted(std::string_view text) {
  const auto open = text.find('"');
  if (open == std::string_view::npos) return std::nullopt;
  const auto close = text.find('"', open + 1);
  if (close == std::string_view::npos) return std::nullopt;
  return text.substr(open + 1, close - open - 1);
}

}  // namespace

std::optional<Version> parse_version_json(std::string_view text) {
  constexpr std::string_view kObject = "\"cuda\"", kKey = "\"version\"";
  const auto object = text.find(kObject);
  if (object == std::string_view::npos) return std::nullopt;
  auto body = text.substr(object + kObject.size());
  body = body.substr(0, body.find('}'));
  const auto key = body.find(kKey);
  if (key == std::string_view::npos) return std::nullopt;
  const auto value = quoted(body.substr(key + kKey.size()));
  return value ? version_of(*value) : std::nullopt;
}

std::optional<Version> parse_version_txt(std::string_view text) {
  const auto value = value_after(text, "CUDA Version");
  return value ? version_of(*value) : std::nullopt;
}

std::optional<Version> parse_version_macro(std::string_view header) {
  for (const auto line : lines(header)) {
    const auto fields = words(line);
    if (fields.size() < 3 || fields[0] != "#define") continue;
    if (fields[1] != "CUDA_VERSION" && fields[1] != "CUDART_VERSION") continue;
    const auto number = parse_unsigned(fields[2]);
    if (!number || *number < 1000) return std::nullopt;
    return version_of(std::to_string(*number / 1000) + "." + std::to_string(*number % 1000 / 10));
  }
  return std::nullopt;
}

std::optional<Version> version_of_runtime_name(std::string_view file_name) {
  constexpr std::string_view kStem = "libcudart.so.";
  if (!file_name.starts_with(kStem)) return std::nullopt;
  const auto numbers = split(file_name.substr(kStem.size()), '.');
  if (numbers.size() < 3) return std::nullopt;
  return version_of(std::string(numbers[0]) + "." + std::string(numbers[1]));
}

namespace {

bool is_program(const System& system, const std::string& path) {
  const auto status = system.status(path);
  return status && status->kind == FileKind::kRegular && (status->mode & 0111) != 0;
}

std::optional<Version> version_of_runtime_in(const System& system, const std::string& directory) {
  for (const auto& entry : system.list(directory).value_or(std::vector<DirectoryEntry>{}))
    if (const auto version = version_of_runtime_name(entry.name)) return version;
  return std::nullopt;
}

// Sources: version.json; version.txt; the headers; the runtime library's name, which is all that
// runtime images keep.
Fact<Version> read_version(const System& system, const std::string& root) {
  struct Source {
    const char* file;
    std::optional<Version> (*parse)(std::string_view);
  };
  constexpr Source kSources[] = {
      {"/version.json", parse_version_json},
      {"/version.txt", parse_version_txt},
      {"/include/cuda.h", parse_version_macro},
      {"/include/cuda_runtime_api.h", parse_version_macro},
  };
  for (const auto& source : kSources) {
    const auto path = root + source.file;
    const auto text = system.read(path, kHeaderStart);
    if (!text) continue;
    if (const auto version = source.parse(*text)) return Fact<Version>::known(*version, path);
  }
  if (const auto version = version_of_runtime_in(system, root + "/lib64"))
    return Fact<Version>::known(*version, root + "/lib64");
  return Fact<Version>::unknown(root, "no version.json, version.txt, header or runtime library");
}

Fact<std::string> path_if(bool there, const std::string& path) {
  return there ? Fact<std::string>::known(path, path) : Fact<std::string>::absent(path);
}

std::string resolved(const System& system, const std::string& path) {
  return system.resolve(path).value_or("");
}

Toolkit examine(const System& system, const std::string& root,
                const Fact<std::string>& nvcc_on_path) {
  const auto nvcc = root + "/bin/nvcc";
  const auto compat = root + "/compat";
  Toolkit toolkit;
  toolkit.root = printable(root);
  toolkit.version = read_version(system, root);
  toolkit.nvcc = path_if(is_program(system, nvcc), nvcc);
  toolkit.compat = path_if(exists(system, compat + "/libcuda.so.1"), compat);
  toolkit.on_path = toolkit.nvcc.is_known() && nvcc_on_path.is(resolved(system, nvcc));
  toolkit.linked = resolved(system, kLink) == root;
  return toolkit;
}

// Real directories that may be toolkits, in the order of the sources below, each once.
class Roots {
 public:
  explicit Roots(const System& system) : system_(system) {}
  void add(const std::string& path) {
    const auto root = resolved(system_, path);
    if (!root.empty() && std::find(roots_.begin(), roots_.end(), root) == roots_.end())
      roots_.push_back(root);
  }
  const std::vector<std::string>& all() const { return roots_; }

 private:
  const System& system_;
  std::vector<std::string> roots_;
};

// Debian's nvidia-cuda-toolkit lies under /usr itself (/usr/bin/nvcc, /usr/include/cuda.h). A link
// in /usr/bin that leads to another root makes /usr none.
bool is_toolkit(const System& system, const std::string& root) {
  if (root == "/usr") return resolved(system, "/usr/bin/nvcc") == "/usr/bin/nvcc";
  for (const std::string mark : {"/bin/nvcc", "/version.json", "/version.txt", "/include/cuda.h",
                                 "/compat/libcuda.so.1", "/nvvm/libdevice", "/lib64/libcudart.so"})
    if (exists(system, root + mark)) return true;
  return version_of_runtime_in(system, root + "/lib64").has_value();
}

}  // namespace

Fact<std::string> read_nvcc_on_path(const System& system) {
  const auto path = variable_fact(system, "PATH");
  if (!path.is_known()) return path;
  for (const auto directory : split(*path, ':')) {
    if (!directory.starts_with('/')) continue;
    const auto nvcc = path_join(directory, "nvcc");
    if (is_program(system, nvcc)) return Fact<std::string>::known(resolved(system, nvcc), nvcc);
  }
  return Fact<std::string>::absent(path.source());
}

// Sources: /usr/local/cuda and its versioned neighbours; CUDA_HOME, CUDA_PATH; the toolkit of the
// nvcc on PATH; Arch's /opt/cuda; Debian's /usr and /usr/lib/cuda. Toolkits inside Python and conda
// environments belong to those.
Fact<std::vector<Toolkit>> read_toolkits(const System& system,
                                         const Fact<std::string>& nvcc_on_path) {
  Roots roots(system);
  for (const auto& entry : system.list("/usr/local").value_or(std::vector<DirectoryEntry>{}))
    if (entry.name.starts_with("cuda")) roots.add(path_join("/usr/local", entry.name));
  for (const std::string name : {"CUDA_HOME", "CUDA_PATH"})
    if (const auto value = variable_fact(system, name); value.is_known() && value->starts_with('/'))
      roots.add(*value);
  if (nvcc_on_path.is_known() && nvcc_on_path->ends_with("/bin/nvcc"))
    roots.add(path_directory(path_directory(*nvcc_on_path)));
  for (const std::string path : {"/opt/cuda", "/usr", "/usr/lib/cuda"}) roots.add(path);

  std::vector<Toolkit> toolkits;
  for (const auto& root : roots.all())
    if (is_toolkit(system, root)) toolkits.push_back(examine(system, root, nvcc_on_path));
  return Fact<std::vector<Toolkit>>::known(std::move(toolkits),
                                           "/usr/local, /opt/cuda, /usr/lib/cuda, CUDA_HOME, PATH");
}

}  // namespace gpuwright
