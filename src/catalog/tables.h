#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "catalog/catalog.h"

// Rows as they stand in catalog/*.toml, column by column. A new column is a field here and its line
// in visit_columns; a new table is a struct, a line in TablesOf and one in visit_tables. The reader
// of TOML, the compiler of constants and the tests all follow these visits, so none of them names a
// column.
//
// Rows only point: to literals in the binary, or into the TableStore of a replaced catalogue. A
// text that a row does not give is empty here and `nothing` in the values that Catalog hands out.

namespace gpuwright::catalog {

using Text = std::string_view;
using Texts = std::span<const std::string_view>;

enum class Need { kRequired, kOptional };

/// The words of a column that admits few; a word's place is its value in the enum.
template <class Enum, std::size_t N>
struct Choice {
  const char* type;  ///< Name of the enum, for the compiler of constants.
  std::string_view words[N];
};
inline constexpr Choice<ModuleFlavour, 3> kModuleFlavours = {"ModuleFlavour",
                                                             {"proprietary", "open", "either"}};
inline constexpr Choice<MissingLibraryLog, 3> kMissingLibraryLogs = {
    "MissingLibraryLog", {"import-error", "warning", "vlog1"}};
inline constexpr Choice<XidSeverity, 4> kXidSeverities = {"XidSeverity",
                                                          {"info", "warning", "error", "fatal"}};

struct ChipRow {
  Texts chips;
  Text architecture, cc;
};

struct PciRow {
  Text chip;
  Texts ids;  ///< "2335 H200 SXM 141GB": four hex digits, then the name if there is one.
};

struct BranchRow {
  std::uint64_t branch = 0;
  Text cuda_shown;
  Texts architectures;
  ModuleFlavour kernel_module = ModuleFlavour::kEither;
};

struct ArchitectureRow {
  Text architecture;
  Texts cc;
  std::optional<std::uint64_t> first_branch, last_branch;
  ModuleFlavour module = ModuleFlavour::kEither;
};

struct CudaMajorRow {
  std::uint64_t major = 0;
  Text driver_min_linux;
};

struct CudaSeriesRow {
  Text minor;
  Texts sonames, sm_supported;
  Text ptx_isa, driver_min_linux;
};

struct CudnnSeriesRow {
  Text first, last, soname, cc_min, cc_max;
};

struct TensorFlowRow {
  Text version, python_min, python_max, cuda, cudnn;
  Texts sonames, sonames_other, sm_sass, sm_ptx;
  Text driver_min_linux, glibc_min;
  MissingLibraryLog missing_library_log = MissingLibraryLog::kVerboseOnly;
  Text opener, finds_wheels_from;
  bool needs_nvml = false;
};

struct TorchRow {
  Text version, variant, arch, cuda, cudnn;
  Texts sm_sass, sm_ptx;
  Text driver_min_linux;
};

struct JaxRow {
  Text version;
  std::uint64_t cuda_major = 0;
  Text cuda_built, cudnn_built, cuda_min, cudnn_min;
  Texts sm_sass, sm_ptx;
  Text driver_min_linux;
  bool needs_nvml = false;
};

struct NumpyFrameworkRow {
  Text framework, first_numpy2;
};

struct CompanionRow {
  Text package, version, tensorflow, tensorflow_min;
};

struct XidRow {
  std::uint64_t code = 0;
  Text title, meaning;
  XidSeverity severity = XidSeverity::kInfo;
  Text fault, action;
  bool gpu_usable = false;
};

// The order of the visits is the order of the fields: the constants are written by position.

template <class Visit>
void visit_columns(Visit& visit, ChipRow& row) {
  visit.texts("chips", row.chips, Need::kRequired);
  visit.text("architecture", row.architecture, Need::kRequired);
  visit.version("cc", row.cc, Need::kRequired);
}

template <class Visit>
void visit_columns(Visit& visit, PciRow& row) {
  visit.text("chip", row.chip, Need::kRequired);
  visit.texts("ids", row.ids, Need::kRequired);
}

template <class Visit>
void visit_columns(Visit& visit, BranchRow& row) {
  visit.number("branch", row.branch);
  visit.version("cuda_shown", row.cuda_shown, Need::kOptional);
  visit.texts("architectures", row.architectures, Need::kRequired);
  visit.choice("kernel_module", row.kernel_module, kModuleFlavours);
}

template <class Visit>
void visit_columns(Visit& visit, ArchitectureRow& row) {
  visit.text("architecture", row.architecture, Need::kRequired);
  visit.versions("cc", row.cc, Need::kRequired);
  visit.number("first_branch", row.first_branch);
  visit.number("last_branch", row.last_branch);
  visit.choice("module", row.module, kModuleFlavours);
}

template <class Visit>
void visit_columns(Visit& visit, CudaMajorRow& row) {
  visit.number("major", row.major);
  visit.version("driver_min_linux", row.driver_min_linux, Need::kRequired);
}

template <class Visit>
void visit_columns(Visit& visit, CudaSeriesRow& row) {
  visit.version("minor", row.minor, Need::kRequired);
  visit.texts("sonames", row.sonames, Need::kRequired);
  visit.versions("sm_supported", row.sm_supported, Need::kRequired);
  visit.version("ptx_isa", row.ptx_isa, Need::kOptional);
  visit.version("driver_min_linux", row.driver_min_linux, Need::kRequired);
}

template <class Visit>
void visit_columns(Visit& visit, CudnnSeriesRow& row) {
  visit.version("first", row.first, Need::kRequired);
  visit.version("last", row.last, Need::kRequired);
  visit.text("soname", row.soname, Need::kRequired);
  visit.version("cc_min", row.cc_min, Need::kOptional);
  visit.version("cc_max", row.cc_max, Need::kOptional);
}

template <class Visit>
void visit_columns(Visit& visit, TensorFlowRow& row) {
  visit.version("version", row.version, Need::kRequired);
  visit.version("python_min", row.python_min, Need::kOptional);
  visit.version("python_max", row.python_max, Need::kOptional);
  visit.version("cuda", row.cuda, Need::kOptional);
  visit.version("cudnn", row.cudnn, Need::kOptional);
  visit.texts("sonames", row.sonames, Need::kRequired);
  visit.texts("sonames_other", row.sonames_other, Need::kOptional);
  visit.versions("sm_sass", row.sm_sass, Need::kOptional);
  visit.versions("sm_ptx", row.sm_ptx, Need::kOptional);
  visit.version("driver_min_linux", row.driver_min_linux, Need::kOptional);
  visit.version("glibc_min", row.glibc_min, Need::kOptional);
  visit.choice("missing_library_log", row.missing_library_log, kMissingLibraryLogs);
  visit.text("opener", row.opener, Need::kOptional);
  visit.version("finds_wheels_from", row.finds_wheels_from, Need::kOptional);
  visit.flag("needs_nvml", row.needs_nvml);
}

template <class Visit>
void visit_columns(Visit& visit, TorchRow& row) {
  visit.version("version", row.version, Need::kRequired);
  visit.text("variant", row.variant, Need::kRequired);
  visit.text("arch", row.arch, Need::kRequired);
  visit.version("cuda", row.cuda, Need::kOptional);
  visit.version("cudnn", row.cudnn, Need::kOptional);
  visit.versions("sm_sass", row.sm_sass, Need::kOptional);
  visit.versions("sm_ptx", row.sm_ptx, Need::kOptional);
  visit.version("driver_min_linux", row.driver_min_linux, Need::kOptional);
}

template <class Visit>
void visit_columns(Visit& visit, JaxRow& row) {
  visit.version("version", row.version, Need::kRequired);
  visit.number("cuda_major", row.cuda_major);
  visit.version("cuda_built", row.cuda_built, Need::kOptional);
  visit.version("cudnn_built", row.cudnn_built, Need::kOptional);
  visit.version("cuda_min", row.cuda_min, Need::kOptional);
  visit.version("cudnn_min", row.cudnn_min, Need::kOptional);
  visit.versions("sm_sass", row.sm_sass, Need::kOptional);
  visit.versions("sm_ptx", row.sm_ptx, Need::kOptional);
  visit.version("driver_min_linux", row.driver_min_linux, Need::kOptional);
  visit.flag("needs_nvml", row.needs_nvml);
}

template <class Visit>
void visit_columns(Visit& visit, NumpyFrameworkRow& row) {
  visit.text("framework", row.framework, Need::kRequired);
  visit.version("first_numpy2", row.first_numpy2, Need::kRequired);
}

template <class Visit>
void visit_columns(Visit& visit, CompanionRow& row) {
  visit.text("package", row.package, Need::kRequired);
  visit.version("version", row.version, Need::kRequired);
  visit.version("tensorflow", row.tensorflow, Need::kRequired);
  visit.version("tensorflow_min", row.tensorflow_min, Need::kOptional);
}

template <class Visit>
void visit_columns(Visit& visit, XidRow& row) {
  visit.number("code", row.code);
  visit.text("title", row.title, Need::kRequired);
  visit.text("meaning", row.meaning, Need::kOptional);
  visit.choice("severity", row.severity, kXidSeverities);
  visit.text("fault", row.fault, Need::kRequired);
  visit.text("action", row.action, Need::kRequired);
  visit.flag("gpu_usable", row.gpu_usable);
}

template <template <class> class List>
struct TablesOf {
  List<ChipRow> chips;
  List<PciRow> pci;
  List<BranchRow> branches;
  List<ArchitectureRow> architectures;
  List<CudaMajorRow> cuda_majors;
  List<CudaSeriesRow> cuda_series;
  List<CudnnSeriesRow> cudnn_series;
  List<TensorFlowRow> tensorflow;
  List<TorchRow> torch;
  List<JaxRow> jax;
  List<NumpyFrameworkRow> numpy_frameworks;
  List<CompanionRow> companions;
  List<XidRow> xids;
};

struct TableName {
  std::string_view file;  ///< "gpus" for gpus.toml
  const char* header;     ///< "chip" for [[chip]]
  const char* member;     ///< In TablesOf.
};

/// visit(TableName, member of each of `tables`), in the order of the members.
template <class Visit>
void visit_tables(Visit&& visit, auto&... tables) {
  visit(TableName{"gpus", "chip", "chips"}, tables.chips...);
  visit(TableName{"gpus", "pci", "pci"}, tables.pci...);
  visit(TableName{"drivers", "branch", "branches"}, tables.branches...);
  visit(TableName{"drivers", "architecture", "architectures"}, tables.architectures...);
  visit(TableName{"cuda", "major", "cuda_majors"}, tables.cuda_majors...);
  visit(TableName{"cuda", "series", "cuda_series"}, tables.cuda_series...);
  visit(TableName{"cudnn", "series", "cudnn_series"}, tables.cudnn_series...);
  visit(TableName{"tensorflow", "release", "tensorflow"}, tables.tensorflow...);
  visit(TableName{"pytorch", "build", "torch"}, tables.torch...);
  visit(TableName{"jax", "build", "jax"}, tables.jax...);
  visit(TableName{"numpy_protobuf", "numpy_framework", "numpy_frameworks"},
        tables.numpy_frameworks...);
  visit(TableName{"companions", "match", "companions"}, tables.companions...);
  visit(TableName{"xid", "xid", "xids"}, tables.xids...);
}

template <class Row>
using Rows = std::vector<Row>;
template <class Row>
using RowsView = std::span<const Row>;

using TableRows = TablesOf<Rows>;
using Tables = TablesOf<RowsView>;

/// Written by tools/compile_catalog.cpp when the program is built.
extern const Tables k_built_in_tables;

}  // namespace gpuwright::catalog
