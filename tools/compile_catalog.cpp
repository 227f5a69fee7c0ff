// Writes the tables of catalog/*.toml as C++ constants, so that the program reads none of them when
// it runs. Called by the build (cmake/compile_catalog.cmake):
//
//   compile_catalog OUT.cpp gpus.toml drivers.toml ...
//
// A fault in a table ends the build with "gpus.toml:12: what".

#include <fmt/format.h>

#include <cstdio>
#include <exception>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "base/text.h"
#include "catalog/tables.h"
#include "catalog/toml/read_toml.h"

namespace gpuwright::catalog {
namespace {

/// A C++ string literal; three octal digits cannot run into the character that follows.
std::string literal(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte > 0x7e || c == '"' || c == '\\')
      out += fmt::format("\\{:03o}", byte);
    else
      out += c;
  }
  return out + '"';
}

/// Writes rows as initialisers. Lists become arrays of their own, one for all rows that have the
/// same list: most releases of a framework share their compute capabilities.
class Writer {
 public:
  void text(const char*, Text& value, Need) { field(literal(value)); }
  void version(const char*, Text& value, Need) { field(literal(value)); }
  void texts(const char*, Texts& value, Need) { field(list_name(value)); }
  void versions(const char*, Texts& value, Need) { field(list_name(value)); }
  void flag(const char*, bool& value) { field(value ? "true" : "false"); }
  void number(const char*, std::uint64_t& value) { field(fmt::format("{}u", value)); }
  void number(const char*, std::optional<std::uint64_t>& value) {
    field(value ? fmt::format("{}u", *value) : "std::nullopt");
  }
  template <class Enum, std::size_t N>
  void choice(const char*, Enum& value, const Choice<Enum, N>& choice) {
    field(fmt::format("{}{{{}}}", choice.type, static_cast<int>(value)));
  }

  template <class Row>
  void table(const TableName& name, std::vector<Row>& rows) {
    tables_ +=
        fmt::format("constexpr decltype(Tables::{0})::value_type k_{0}[] = {{\n", name.member);
    for (auto& row : rows) {
      row_.clear();
      visit_columns(*this, row);
      tables_ += fmt::format("    {{{}}},\n", row_);
    }
    tables_ += "};\n\n";
    members_ += fmt::format("    k_{},\n", name.member);
  }

  std::string source() const {
    return fmt::format(
        "// Written by tools/compile_catalog.cpp from catalog/*.toml.\n"
        "#include \"catalog/tables.h\"\n\n"
        "namespace gpuwright::catalog {{\nnamespace {{\n\n{}\n{}}}  // namespace\n\n"
        "constinit const Tables k_built_in_tables = {{\n{}}};\n\n}}  // namespace "
        "gpuwright::catalog\n",
        lists_, tables_, members_);
  }

 private:
  void field(const std::string& value) { row_ += (row_.empty() ? "" : ", ") + value; }

  std::string list_name(Texts list) {
    if (list.empty()) return "{}";
    std::vector<std::string> literals;
    for (const auto item : list) literals.push_back(literal(item));
    const auto content = join(literals, ", ");
    const auto [at, is_new] = list_names_.emplace(content, fmt::format("l{}", list_names_.size()));
    if (is_new)
      lists_ += fmt::format("constexpr std::string_view {}[] = {{{}}};\n", at->second, content);
    return at->second;
  }

  std::string row_, lists_, tables_, members_;
  std::map<std::string, std::string> list_names_;
};

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

int compile(const std::string& out, const std::vector<std::string>& files) {
  TableStore store;
  for (const auto& path : files) {
    if (const auto read = read_toml(path, read_file(path), store); !read) {
      fmt::print(stderr, "{}\n", read.error().text());
      return 1;
    }
  }
  Writer writer;
  visit_tables([&](const TableName& name, auto& rows) { writer.table(name, rows); }, store.rows);
  std::ofstream file(out, std::ios::binary);
  file << writer.source();
  file.close();
  return file ? 0 : 1;
}

}  // namespace
}  // namespace gpuwright::catalog

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "usage: compile_catalog OUT.cpp TABLE.toml...\n");
    return 2;
  }
  try {
    return gpuwright::catalog::compile(argv[1], {argv + 2, argv + argc});
  } catch (const std::exception& error) {
    fmt::print(stderr, "compile_catalog: {}\n", error.what());
    return 1;
  }
}
