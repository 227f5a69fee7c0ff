#include <gtest/gtest.h>
#include <regex.h>
#include <toml++/toml.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/embedded.h"
#include "catalog/tables.h"
#include "catalog/toml/read_toml.h"

// The tables against themselves and each other: what a reader of catalog/*.toml may rely on, and
// what an added row must keep.

namespace gpuwright {

extern const EmbeddedFile k_catalog_texts[];

namespace catalog {
namespace {

constexpr const Tables& tables = k_built_in_tables;

std::vector<EmbeddedFile> files() {
  std::vector<EmbeddedFile> found;
  for (const auto* file = k_catalog_texts; file->name != nullptr; ++file) found.push_back(*file);
  return found;
}

toml::table parse(const EmbeddedFile& file) { return toml::parse(file.text()); }

toml::table parse(std::string_view name) {
  for (const auto& file : files())
    if (file.name == name) return parse(file);
  throw std::invalid_argument(std::string(name));
}

/// Calls visit(row, place) for every [[row]] of a file; place is "gpus.toml:12".
template <class Visit>
void for_each_row(const EmbeddedFile& file, Visit&& visit) {
  const auto root = parse(file);
  for (const auto& [key, node] : root) {
    const auto* array = node.as_array();
    if (array == nullptr) continue;
    for (const auto& item : *array)
      if (const auto* row = item.as_table())
        visit(*row, std::string(file.name) + ".toml:" + std::to_string(row->source().begin.line));
  }
}

/// A POSIX extended expression. Not <regex>: with a sanitizer GCC 12 warns inside that header
/// (GCC bug 105562), and here warnings are errors.
class Pattern {
 public:
  explicit Pattern(const std::string& text)
      : is_valid_(regcomp(&compiled_, text.c_str(), REG_EXTENDED | REG_NOSUB) == 0) {}
  ~Pattern() {
    if (is_valid_) regfree(&compiled_);
  }
  Pattern(const Pattern&) = delete;
  Pattern& operator=(const Pattern&) = delete;

  bool is_valid() const { return is_valid_; }
  bool matches(const std::string& text) const {
    return is_valid_ && regexec(&compiled_, text.c_str(), 0, nullptr, 0) == 0;
  }

 private:
  regex_t compiled_{};
  bool is_valid_;
};

bool is_date(const std::string& text) {
  return Pattern("^20[0-9]{2}-[01][0-9]-[0-3][0-9]$").matches(text);
}

bool has(Texts list, Text item) { return std::ranges::find(list, item) != list.end(); }

/// The rows' keys in the order of the file, as texts: no key may appear twice.
template <class Row, class Key>
void expect_unique(std::span<const Row> rows, Key key) {
  std::set<std::string> seen;
  for (const auto& row : rows) EXPECT_TRUE(seen.insert(key(row)).second) << key(row);
}

template <class Row>
void expect_ascending(std::span<const Row> rows, Text Row::*column) {
  for (std::size_t i = 1; i < rows.size(); ++i)
    EXPECT_LT(Version::of(rows[i - 1].*column), Version::of(rows[i].*column)) << rows[i].*column;
}

const CudaSeriesRow* cuda_series(const Version& version) {
  for (const auto& row : tables.cuda_series)
    if (Version::of(row.minor).same_series(version, 2)) return &row;
  return nullptr;
}

const CudaSeriesRow* cuda_series(Text version) { return cuda_series(Version::of(version)); }

bool is_branch(std::uint64_t branch) {
  return std::ranges::find(tables.branches, branch, &BranchRow::branch) != tables.branches.end();
}

std::uint64_t branch_of(Text driver) { return Version::of(driver).major_part(); }

TEST(EveryFile, SaysItsSchemaAndDate) {
  ASSERT_FALSE(files().empty());
  for (const auto& file : files()) {
    const auto root = parse(file);
    const auto& head = root.contains("meta") ? *root.get("meta")->as_table() : root;
    EXPECT_EQ(head["schema"].value<std::int64_t>(), 1) << file.name;
    const auto date = head.contains("as_of") ? head["as_of"].value<std::string>()
                                             : head["collected"].value<std::string>();
    EXPECT_TRUE(date && is_date(*date)) << file.name;
  }
}

TEST(EveryRow, NamesItsSource) {
  for (const auto& file : files()) {
    // Tables read as a whole from a few documents name them once, in [meta].
    if (const auto root = parse(file); root["meta"]["sources"].is_array()) continue;
    for_each_row(file, [](const toml::table& row, const std::string& place) {
      EXPECT_FALSE(row["source"].value_or(std::string()).empty()) << place;
    });
  }
}

TEST(EveryRow, ThatWasCheckedSaysWhen) {
  for (const auto& file : files())
    for_each_row(file, [](const toml::table& row, const std::string& place) {
      if (row.contains("checked")) {
        EXPECT_TRUE(is_date(row["checked"].value_or(std::string()))) << place;
      }
    });
}

TEST(EverySonameColumn, HoldsSonames) {
  const Pattern soname("^lib[A-Za-z0-9_-]+\\.so(\\.[0-9]+)+$");
  for (const auto& file : files())
    for_each_row(file, [&](const toml::table& row, const std::string& place) {
      for (const auto* column : {"sonames", "sonames_other", "needed", "later"}) {
        const auto* list = row[column].as_array();
        if (list == nullptr) continue;
        for (const auto& item : *list)
          EXPECT_TRUE(soname.matches(item.value_or(std::string()))) << place;
      }
    });
}

/// Writes a row column by column, so that two tables can be compared.
class Dump {
 public:
  void text(const char*, Text& value, Need) { out_ += std::string(value) + '|'; }
  void version(const char* column, Text& value, Need need) { text(column, value, need); }
  void texts(const char* column, Texts& value, Need need) {
    for (auto item : value) text(column, item, need);
    out_ += ';';
  }
  void versions(const char* column, Texts& value, Need need) { texts(column, value, need); }
  void flag(const char*, bool& value) { out_ += value ? "true|" : "false|"; }
  void number(const char*, std::uint64_t& value) { out_ += std::to_string(value) + '|'; }
  void number(const char*, std::optional<std::uint64_t>& value) {
    out_ += (value ? std::to_string(*value) : "nothing") + '|';
  }
  template <class Enum, std::size_t N>
  void choice(const char*, Enum& value, const Choice<Enum, N>& choice) {
    out_ += std::string(choice.words[static_cast<std::size_t>(value)]) + '|';
  }

  template <class Rows>
  static std::string of(const Rows& rows) {
    Dump dump;
    for (auto row : rows) {
      visit_columns(dump, row);
      dump.out_ += '\n';
    }
    return dump.out_;
  }

 private:
  std::string out_;
};

TEST(Constants, AreWhatTheFilesSay) {
  TableStore store;
  for (const auto& file : files()) {
    const auto read = read_toml(std::string(file.name) + ".toml", file.text(), store);
    ASSERT_TRUE(read) << read.error().text();
  }
  visit_tables(
      [](const TableName& name, const auto& constants, const auto& rows) {
        EXPECT_FALSE(rows.empty()) << name.member;
        EXPECT_EQ(Dump::of(constants), Dump::of(rows)) << name.member;
      },
      tables, store.rows);
}

TEST(Keys, AreUniqueAndSorted) {
  expect_ascending(tables.cuda_series, &CudaSeriesRow::minor);
  expect_ascending(tables.tensorflow, &TensorFlowRow::version);
  expect_ascending(tables.cudnn_series, &CudnnSeriesRow::first);
  EXPECT_TRUE(std::ranges::is_sorted(tables.branches, {}, &BranchRow::branch));
  EXPECT_TRUE(std::ranges::is_sorted(tables.cuda_majors, {}, &CudaMajorRow::major));
  expect_unique(tables.branches, [](const auto& row) { return std::to_string(row.branch); });
  expect_unique(tables.cuda_majors, [](const auto& row) { return std::to_string(row.major); });
  expect_unique(tables.architectures,
                [](const auto& row) { return std::string(row.architecture); });
  expect_unique(tables.pci, [](const auto& row) { return std::string(row.chip); });
  expect_unique(tables.torch, [](const auto& row) {
    return std::string(row.version) + " " + std::string(row.variant) + " " + std::string(row.arch);
  });
  expect_unique(tables.jax, [](const auto& row) {
    return std::string(row.version) + " cuda" + std::to_string(row.cuda_major);
  });
}

TEST(Keys, OfTorchAndJaxAscendWithTheRelease) {
  EXPECT_TRUE(std::ranges::is_sorted(tables.jax, {}, [](const JaxRow& row) {
    return std::pair(Version::of(row.version), row.cuda_major);
  }));
  // First all x86_64 builds, then all aarch64 builds.
  EXPECT_TRUE(std::ranges::is_sorted(tables.torch, {}, [](const TorchRow& row) {
    return std::tuple(row.arch == "aarch64", Version::of(row.version), row.variant);
  }));
}

TEST(Keys, OfCudnnRangesDoNotOverlap) {
  for (std::size_t i = 0; i < tables.cudnn_series.size(); ++i) {
    const auto& row = tables.cudnn_series[i];
    EXPECT_LE(Version::of(row.first), Version::of(row.last)) << row.first;
    if (i > 0) {
      EXPECT_LT(Version::of(tables.cudnn_series[i - 1].last), Version::of(row.first)) << row.first;
    }
  }
}

TEST(Companions, AreMadeForReleasesThatExist) {
  expect_unique(tables.companions, [](const auto& row) {
    return std::string(row.package) + " " + std::string(row.version);
  });
  for (const auto& row : tables.companions) {
    const auto made_for = Version::of(row.tensorflow);
    const bool exists = std::ranges::any_of(tables.tensorflow, [&](const auto& release) {
      return Version::of(release.version).same_series(made_for, 2);
    });
    EXPECT_TRUE(exists) << row.package << " " << row.version;
    EXPECT_TRUE(row.tensorflow_min.empty() ||
                Version::of(row.tensorflow_min).same_series(made_for, 2))
        << row.package << " " << row.version;
  }
}

TEST(DeviceIds, AreFourHexDigitsAndUnique) {
  const Pattern entry("^[0-9a-f]{4}( .+)?$");
  std::set<std::string> seen;
  for (const auto& row : tables.pci)
    for (const auto id : row.ids) {
      EXPECT_TRUE(entry.matches(std::string(id))) << id;
      EXPECT_TRUE(seen.insert(std::string(id.substr(0, 4))).second) << id;
    }
}

TEST(Chips, AreUniqueAndOfAKnownArchitecture) {
  std::set<Text> seen;
  for (const auto& row : tables.chips) {
    for (const auto chip : row.chips) EXPECT_TRUE(seen.insert(chip).second) << chip;
    const auto architecture =
        std::ranges::find(tables.architectures, row.architecture, &ArchitectureRow::architecture);
    ASSERT_NE(architecture, tables.architectures.end()) << row.architecture;
    EXPECT_TRUE(has(architecture->cc, row.cc)) << row.architecture << " " << row.cc;
  }
  for (const auto& row : tables.pci) EXPECT_TRUE(seen.contains(row.chip)) << row.chip;
}

TEST(Architectures, HaveAChipForEachComputeCapability) {
  for (const auto& row : tables.architectures)
    for (const auto cc : row.cc) {
      const auto is_chip = [&](const ChipRow& chip) {
        return chip.architecture == row.architecture && chip.cc == cc;
      };
      EXPECT_TRUE(std::ranges::any_of(tables.chips, is_chip)) << row.architecture << " " << cc;
    }
}

TEST(Branches, DriveTheArchitecturesWhoseRangeHoldsThem) {
  for (const auto& branch : tables.branches) {
    for (const auto name : branch.architectures)
      EXPECT_TRUE(std::ranges::any_of(tables.architectures,
                                      [&](const auto& row) { return row.architecture == name; }))
          << branch.branch << " " << name;
    for (const auto& row : tables.architectures) {
      if (!row.first_branch && !row.last_branch) continue;  // Rubin: no branch confirmed yet.
      const bool in_range = branch.branch >= row.first_branch.value_or(0) &&
                            branch.branch <= row.last_branch.value_or(UINT64_MAX);
      EXPECT_EQ(in_range, has(branch.architectures, row.architecture))
          << branch.branch << " " << row.architecture;
    }
  }
}

TEST(Architectures, NameBranchesThatExist) {
  std::set<std::uint64_t> legacy;  // Frozen before the oldest [[branch]] row.
  const auto root = parse("drivers");
  for (const auto& item : *root["legacy"].as_array())
    legacy.insert(std::stoull((*item.as_table())["branch"].value_or(std::string())));
  for (const auto& row : tables.architectures) {
    if (row.first_branch) {
      EXPECT_TRUE(is_branch(*row.first_branch) || legacy.contains(*row.first_branch))
          << row.architecture;
    }
    if (row.last_branch) {
      EXPECT_TRUE(is_branch(*row.last_branch)) << row.architecture;
    }
  }
}

TEST(DriverMinima, AreOfABranchThatExists) {
  for (const auto& row : tables.cuda_majors)
    EXPECT_TRUE(is_branch(branch_of(row.driver_min_linux)));
  for (const auto& row : tables.cuda_series)
    EXPECT_TRUE(is_branch(branch_of(row.driver_min_linux))) << row.minor;
}

TEST(DriverMinima, FollowMinorVersionCompatibility) {
  const auto& catalog = Catalog::built_in();
  for (const auto& major : tables.cuda_majors)
    for (const auto& row : tables.cuda_series)
      if (Version::of(row.minor).major_part() == major.major && row.minor != "11.0") {
        EXPECT_EQ(row.driver_min_linux, major.driver_min_linux) << row.minor;
      }
  for (const auto& row : tables.tensorflow)
    EXPECT_EQ(Version::of(row.driver_min_linux), catalog.driver_floor(Version::of(row.cuda)))
        << row.version;
  for (const auto& row : tables.torch)
    EXPECT_EQ(Version::of(row.driver_min_linux), catalog.driver_floor(Version::of(row.cuda)))
        << row.version << " " << row.variant;
  for (const auto& row : tables.jax)
    EXPECT_EQ(Version::of(row.driver_min_linux),
              catalog.driver_floor(Version::of(std::to_string(row.cuda_major) + ".1")))
        << row.version << " " << row.cuda_major;
}

TEST(CudaOfFrameworks, IsASeriesThatExists) {
  for (const auto& row : tables.tensorflow) EXPECT_TRUE(cuda_series(row.cuda)) << row.version;
  for (const auto& row : tables.torch)
    EXPECT_TRUE(cuda_series(row.cuda)) << row.version << row.variant;
  for (const auto& row : tables.jax)
    if (!row.cuda_built.empty()) {
      EXPECT_TRUE(cuda_series(row.cuda_built)) << row.version;
      EXPECT_EQ(Version::of(row.cuda_built).major_part(), row.cuda_major) << row.version;
    }
}

TEST(TorchVariants, SpellTheirCuda) {
  for (const auto& row : tables.torch) {
    const auto cuda = Version::of(row.cuda);
    EXPECT_EQ(row.variant,
              "cu" + std::to_string(cuda.major_part()) + std::to_string(cuda.minor_part()))
        << row.version;
  }
}

TEST(TensorFlowSonames, AreThoseOfItsCudaAndCudnn) {
  for (const auto& row : tables.tensorflow) {
    const auto cudnn = Catalog::built_in().cudnn(Version::of(row.cudnn));
    ASSERT_TRUE(cudnn) << row.version;
    for (const auto soname : row.sonames)
      EXPECT_TRUE(soname == cudnn->soname || has(cuda_series(row.cuda)->sonames, soname))
          << row.version << " " << soname;
  }
}

TEST(TensorFlowWheels, AreFoundExactlyWhereTheOpenerNamesAllTheirDirectories) {
  const std::map<std::string, std::string> directories = {
      {"libcudart", "cuda_runtime"}, {"libcublas", "cublas"}, {"libcublasLt", "cublas"},
      {"libcufft", "cufft"},         {"libcurand", "curand"}, {"libcusolver", "cusolver"},
      {"libcusparse", "cusparse"},   {"libcudnn", "cudnn"},
  };
  const auto root = parse("tensorflow");
  const auto& rows = *root["release"].as_array();
  ASSERT_EQ(rows.size(), tables.tensorflow.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::set<std::string> named;
    if (const auto* list = (*rows[i].as_table())["runpath_wheels"].as_array())
      for (const auto& item : *list) named.insert(item.value_or(std::string()));
    const auto& row = tables.tensorflow[i];
    const bool all = std::ranges::all_of(row.sonames, [&](Text soname) {
      return named.contains(directories.at(std::string(soname.substr(0, soname.find('.')))));
    });
    EXPECT_EQ(all, !row.finds_wheels_from.empty()) << row.version;
    if (row.finds_wheels_from.empty()) continue;
    EXPECT_TRUE(Version::of(row.finds_wheels_from).same_series(Version::of(row.version), 2))
        << row.version;
  }
}

TEST(ComputeCapabilities, OfBuildsAreKnownToTheirToolkit) {
  const auto expect_known = [](Texts capabilities, Text cuda, Text version) {
    const auto* series = cuda.empty() ? nullptr : cuda_series(cuda);
    if (series == nullptr) return;
    for (const auto cc : capabilities)
      EXPECT_TRUE(has(series->sm_supported, cc)) << version << " " << cc;
  };
  for (const auto& row : tables.tensorflow) {
    expect_known(row.sm_sass, row.cuda, row.version);
    expect_known(row.sm_ptx, row.cuda, row.version);
  }
  for (const auto& row : tables.torch) {
    expect_known(row.sm_sass, row.cuda, row.version);
    expect_known(row.sm_ptx, row.cuda, row.version);
  }
  for (const auto& row : tables.jax) {
    expect_known(row.sm_sass, row.cuda_built, row.version);
    expect_known(row.sm_ptx, row.cuda_built, row.version);
  }
}

TEST(Products, HaveAValidPatternAndAKnownChip) {
  const auto root = parse("gpus");
  for (const auto& item : *root["gpu"].as_array()) {
    const auto& row = *item.as_table();
    EXPECT_TRUE(Pattern(row["match"].value_or(std::string())).is_valid())
        << row["name"].value_or(std::string());
    const auto chip = row["chip"].value_or(std::string());
    EXPECT_TRUE(std::ranges::any_of(tables.chips, [&](const ChipRow& known) {
      return has(known.chips, chip) && known.cc == row["cc"].value_or(std::string());
    })) << row["name"].value_or(std::string());
  }
}

TEST(CudaSonames, AreThoseOfTheRealToolkits) {
  const auto series_has = [](Text version, std::initializer_list<Text> sonames) {
    const auto* series = cuda_series(version);
    ASSERT_TRUE(series) << version;
    for (const auto soname : sonames)
      EXPECT_TRUE(has(series->sonames, soname)) << version << soname;
  };
  // Read from real toolkits and wheels: 12.9 and 13.0 on disk; the others as their frameworks ask.
  series_has("10.1", {"libcudart.so.10.1", "libcublas.so.10", "libcusolver.so.10"});
  series_has("11.0", {"libcudart.so.11.0", "libcusolver.so.10", "libcufft.so.10"});
  series_has("11.8",
             {"libcudart.so.11.0", "libcusolver.so.11", "libcufft.so.10", "libcusparse.so.11"});
  series_has("12.9", {"libcudart.so.12", "libcublas.so.12", "libcublasLt.so.12", "libcufft.so.11",
                      "libcurand.so.10", "libcusolver.so.11", "libcusparse.so.12", "libnvrtc.so.12",
                      "libcupti.so.12", "libnvJitLink.so.12"});
  series_has("13.0", {"libcudart.so.13", "libcublas.so.13", "libcublasLt.so.13", "libcufft.so.12",
                      "libcurand.so.10", "libcusolver.so.12", "libcusparse.so.12", "libnvrtc.so.13",
                      "libcupti.so.13", "libnvJitLink.so.13"});
}

}  // namespace
}  // namespace catalog
}  // namespace gpuwright
