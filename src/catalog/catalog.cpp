#include "catalog/catalog.h"

#include <algorithm>
#include <functional>
#include <map>
#include <span>

#include "base/embedded.h"
#include "base/text.h"
#include "catalog/tables.h"
#include "catalog/toml/read_toml.h"

namespace gpuwright {

extern const EmbeddedFile k_catalog_texts[];

using catalog::Tables;
using catalog::Text;
using catalog::Texts;

struct Catalog::Impl {
  Tables tables = catalog::k_built_in_tables;
  /// What `tables` points to where files were replaced.
  catalog::TableStore replaced;
  /// By table name; a name stands here exactly when its file was replaced.
  std::map<std::string, std::string, std::less<>> replaced_texts;
};

namespace {

std::vector<std::string> strings(Texts list) { return {list.begin(), list.end()}; }

std::optional<Version> version_or_nothing(Text text) {
  if (text.empty()) return std::nullopt;
  return Version::of(text);
}

/// True when `version` is `first` or newer; a row that names no first release has none.
bool is_from(const Version& version, Text first) {
  return !first.empty() && version >= Version::of(first);
}

/// The first row of the minor series of `version` in the column `series`.
template <class Row>
const Row* find_series(std::span<const Row> rows, Text Row::*series, const Version& version) {
  const auto same = [&](const Row& row) {
    return Version::of(row.*series).same_series(version, 2);
  };
  const auto at = std::ranges::find_if(rows, same);
  return at == rows.end() ? nullptr : &*at;
}

const catalog::ChipRow* find_chip(const Tables& tables, std::string_view chip) {
  for (const auto& row : tables.chips)
    if (std::ranges::find(row.chips, chip) != row.chips.end()) return &row;
  return nullptr;
}

}  // namespace

std::string_view name_of(ModuleFlavour flavour) {
  return catalog::kModuleFlavours.words[static_cast<std::size_t>(flavour)];
}

std::optional<GpuModel> Catalog::gpu(std::string_view device_id) const {
  constexpr std::size_t kDigits = 4;
  if (device_id.size() != kDigits) return std::nullopt;
  for (const auto& row : impl_->tables.pci) {
    const auto entry =
        std::ranges::find_if(row.ids, [&](Text id) { return id.substr(0, kDigits) == device_id; });
    if (entry == row.ids.end()) continue;
    const auto* chip = find_chip(impl_->tables, row.chip);
    if (chip == nullptr) return std::nullopt;
    return GpuModel{.device_id = std::string(device_id),
                    .name = std::string(trim(entry->substr(kDigits))),
                    .chip = std::string(row.chip),
                    .architecture = std::string(chip->architecture),
                    .compute_capability = Version::of(chip->cc)};
  }
  return std::nullopt;
}

std::optional<DriverBranch> Catalog::driver_branch(const Version& driver) const {
  const catalog::BranchRow* newest = nullptr;
  for (const auto& row : impl_->tables.branches)
    if (row.branch <= driver.major_part() && (newest == nullptr || row.branch > newest->branch))
      newest = &row;
  if (newest == nullptr) return std::nullopt;
  return DriverBranch{.branch = newest->branch,
                      .cuda = version_or_nothing(newest->cuda_shown),
                      .architectures = strings(newest->architectures),
                      .kernel_module = newest->kernel_module};
}

std::optional<ArchitectureSupport> Catalog::architecture(std::string_view name) const {
  const auto& rows = impl_->tables.architectures;
  const auto row = std::ranges::find(rows, name, &catalog::ArchitectureRow::architecture);
  if (row == rows.end()) return std::nullopt;
  return ArchitectureSupport{.architecture = std::string(row->architecture),
                             .first_branch = row->first_branch,
                             .last_branch = row->last_branch,
                             .kernel_module = row->module};
}

std::optional<Version> Catalog::cuda_of_driver(const Version& driver) const {
  const auto branch = driver_branch(driver);
  return branch ? branch->cuda : std::nullopt;
}

std::optional<Version> Catalog::driver_floor(const Version& cuda) const {
  const auto& tables = impl_->tables;
  if (const auto* row = find_series(tables.cuda_series, &catalog::CudaSeriesRow::minor, cuda))
    return Version::of(row->driver_min_linux);
  const auto major =
      std::ranges::find(tables.cuda_majors, cuda.major_part(), &catalog::CudaMajorRow::major);
  if (major == tables.cuda_majors.end()) return std::nullopt;
  return Version::of(major->driver_min_linux);
}

std::optional<CudaSeries> Catalog::cuda_series(const Version& version) const {
  const auto* row = find_series(impl_->tables.cuda_series, &catalog::CudaSeriesRow::minor, version);
  if (row == nullptr) return std::nullopt;
  return CudaSeries{.version = Version::of(row->minor),
                    .sonames = strings(row->sonames),
                    .sm_supported = strings(row->sm_supported),
                    .ptx_isa = version_or_nothing(row->ptx_isa)};
}

std::optional<CudnnSeries> Catalog::cudnn(const Version& version) const {
  for (const auto& row : impl_->tables.cudnn_series) {
    const auto first = Version::of(row.first);
    const auto last = Version::of(row.last);
    if (version < first || (version > last && !version.same_series(last, 2))) continue;
    return CudnnSeries{.first = first,
                       .last = last,
                       .soname = std::string(row.soname),
                       .cc_min = version_or_nothing(row.cc_min),
                       .cc_max = version_or_nothing(row.cc_max)};
  }
  return std::nullopt;
}

std::optional<TensorFlowRelease> Catalog::tensorflow(const Version& version) const {
  const auto* row =
      find_series(impl_->tables.tensorflow, &catalog::TensorFlowRow::version, version);
  if (row == nullptr) return std::nullopt;
  return TensorFlowRelease{.version = Version::of(row->version),
                           .python_min = version_or_nothing(row->python_min),
                           .python_max = version_or_nothing(row->python_max),
                           .cuda = version_or_nothing(row->cuda),
                           .cudnn = version_or_nothing(row->cudnn),
                           .sonames = strings(row->sonames),
                           .sonames_other = strings(row->sonames_other),
                           .sm_sass = strings(row->sm_sass),
                           .sm_ptx = strings(row->sm_ptx),
                           .driver_min = version_or_nothing(row->driver_min_linux),
                           .glibc_min = version_or_nothing(row->glibc_min),
                           .missing_library_log = row->missing_library_log,
                           .opener = std::string(row->opener),
                           .finds_wheels = is_from(version, row->finds_wheels_from),
                           .needs_nvml = row->needs_nvml};
}

Version Catalog::newest_tensorflow() const {
  Version newest;
  for (const auto& row : impl_->tables.tensorflow)
    newest = std::max(newest, Version::of(row.version));
  return newest;
}

std::optional<TorchBuild> Catalog::torch(const Version& version, std::string_view variant,
                                         std::string_view architecture) const {
  for (const auto& row : impl_->tables.torch) {
    if (row.variant != variant || row.arch != architecture) continue;
    if (!Version::of(row.version).same_series(version, 2)) continue;
    return TorchBuild{.version = Version::of(row.version),
                      .variant = std::string(row.variant),
                      .architecture = std::string(row.arch),
                      .cuda = version_or_nothing(row.cuda),
                      .cudnn = version_or_nothing(row.cudnn),
                      .sm_sass = strings(row.sm_sass),
                      .sm_ptx = strings(row.sm_ptx),
                      .driver_min = version_or_nothing(row.driver_min_linux)};
  }
  return std::nullopt;
}

std::optional<JaxBuild> Catalog::jax(const Version& version, std::uint64_t cuda_major) const {
  for (const auto& row : impl_->tables.jax) {
    if (row.cuda_major != cuda_major || Version::of(row.version) != version) continue;
    return JaxBuild{.version = Version::of(row.version),
                    .cuda_major = row.cuda_major,
                    .cuda = version_or_nothing(row.cuda_built),
                    .cudnn = version_or_nothing(row.cudnn_built),
                    .cuda_min = version_or_nothing(row.cuda_min),
                    .cudnn_min = version_or_nothing(row.cudnn_min),
                    .sm_sass = strings(row.sm_sass),
                    .sm_ptx = strings(row.sm_ptx),
                    .driver_min = version_or_nothing(row.driver_min_linux),
                    .needs_nvml = row.needs_nvml};
  }
  return std::nullopt;
}

namespace {

std::string_view built_in_text(std::string_view table) {
  for (const auto* file = k_catalog_texts; file->name != nullptr; ++file)
    if (file->name == table) return file->text();
  return {};
}

/// Text of one replaced table. A misspelt name would leave the built-in table in force unseen, so
/// it is an error.
Result<std::string> read_table(const System& system, const std::string& path,
                               std::string_view table) {
  constexpr std::size_t kMaxBytes = 8 << 20;  // The largest table has 84 KB.
  if (built_in_text(table).empty()) return fail("is no table of the catalogue", path);
  auto text = system.read(path, kMaxBytes);
  if (text && text->size() == kMaxBytes) return fail("is larger than 8 MiB", path);
  return text;
}

}  // namespace

std::optional<Version> Catalog::first_numpy2(std::string_view framework) const {
  // The table is for people too and has PyTorch's name, not its module's.
  const auto name = framework == "torch" ? std::string_view("pytorch") : framework;
  const auto& rows = impl_->tables.numpy_frameworks;
  const auto row = std::ranges::find(rows, name, &catalog::NumpyFrameworkRow::framework);
  return row == rows.end() ? std::nullopt : version_or_nothing(row->first_numpy2);
}

std::optional<CompanionMatch> Catalog::companion(std::string_view package,
                                                 const Version& version) const {
  const auto places = [](const catalog::CompanionRow& row) {
    return std::max<std::size_t>(Version::of(row.version).size(), 2);
  };
  const auto& rows = impl_->tables.companions;
  const auto row = std::ranges::find_if(rows, [&](const auto& candidate) {
    return candidate.package == package &&
           Version::of(candidate.version).same_series(version, places(candidate));
  });
  if (row == rows.end()) return std::nullopt;
  if (row->tensorflow_min.empty()) return CompanionMatch{Version::of(row->tensorflow), false};
  return CompanionMatch{Version::of(row->tensorflow_min), true};
}

std::optional<Xid> Catalog::xid(std::uint64_t code) const {
  const auto& rows = impl_->tables.xids;
  const auto row = std::ranges::find(rows, code, &catalog::XidRow::code);
  if (row == rows.end()) return std::nullopt;
  return Xid{.code = row->code,
             .title = std::string(row->title),
             .meaning = std::string(row->meaning),
             .severity = row->severity,
             .fault = std::string(row->fault),
             .action = std::string(row->action),
             .gpu_usable = row->gpu_usable};
}

std::string_view Catalog::text(std::string_view table) const {
  const auto replaced = impl_->replaced_texts.find(table);
  return replaced != impl_->replaced_texts.end() ? replaced->second : built_in_text(table);
}

const Catalog& Catalog::built_in() {
  static const Catalog catalog;
  return catalog;
}

Result<Catalog> Catalog::from_directory(const System& system, const std::string& directory) {
  const auto entries = system.list(directory);
  if (!entries) return tl::unexpected<Error>(entries.error());
  Catalog catalog;
  auto& impl = *catalog.impl_;
  for (const auto& entry : *entries) {
    const auto path = path_join(directory, entry.name);
    const auto name = catalog::table_name(path);
    if (name.empty()) continue;
    auto text = read_table(system, path, name);
    if (!text) return tl::unexpected<Error>(text.error());
    if (const auto read = catalog::read_toml(path, *text, impl.replaced); !read)
      return tl::unexpected<Error>(read.error());
    impl.replaced_texts.emplace(name, std::move(*text));
  }
  catalog::visit_tables(
      [&](const catalog::TableName& name, auto& view, const auto& rows) {
        if (impl.replaced_texts.contains(name.file)) view = rows;
      },
      impl.tables, impl.replaced.rows);
  return catalog;
}

Catalog::Catalog() : impl_(std::make_unique<Impl>()) {}
Catalog::Catalog(Catalog&&) noexcept = default;
Catalog& Catalog::operator=(Catalog&&) noexcept = default;
Catalog::~Catalog() = default;

}  // namespace gpuwright
