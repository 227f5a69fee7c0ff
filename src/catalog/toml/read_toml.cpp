#include "catalog/toml/read_toml.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <iterator>

#include "base/text.h"
#include "base/version.h"

// Written to toml++ 2.5 (Ubuntu 22.04) and 3.x alike: keys are not walked, because their type
// changed with 3.0.

namespace gpuwright::catalog {
namespace {

constexpr std::int64_t kSchema = 1;

/// Where a fault is: "facts/gpus.toml:12".
std::string place(std::string_view path, const toml::source_region& region) {
  return fmt::format("{}:{}", path, region.begin.line);
}

/// Fills one row, column by column, and keeps the first fault.
class RowReader {
 public:
  RowReader(std::string_view path, const toml::table& table, TableStore& store)
      : path_(path), table_(table), store_(store) {}

  void text(const char* column, Text& into, Need need) {
    if (const auto* node = find(column, need)) into = keep_text(column, *node);
  }

  void version(const char* column, Text& into, Need need) {
    if (const auto* node = find(column, need)) into = keep_version(column, *node);
  }

  void texts(const char* column, Texts& into, Need need) {
    into = keep_list(column, need, &RowReader::keep_text);
  }

  void versions(const char* column, Texts& into, Need need) {
    into = keep_list(column, need, &RowReader::keep_version);
  }

  void number(const char* column, std::uint64_t& into) {
    if (const auto* node = find(column, Need::kRequired)) into = read_number(column, *node);
  }

  void number(const char* column, std::optional<std::uint64_t>& into) {
    if (const auto* node = find(column, Need::kOptional)) into = read_number(column, *node);
  }

  void flag(const char* column, bool& into) {
    const auto* node = find(column, Need::kOptional);
    if (node == nullptr) return;
    if (const auto* value = node->as_boolean())
      into = value->get();
    else
      fault(*node, column, "is not true or false");
  }

  template <class Enum, std::size_t N>
  void choice(const char* column, Enum& into, const Choice<Enum, N>& choice) {
    const auto* node = find(column, Need::kRequired);
    if (node == nullptr) return;
    const Text word = keep_text(column, *node);
    const auto at = std::ranges::find(choice.words, word);
    if (at == std::end(choice.words))
      return fault(*node, column,
                   fmt::format("is \"{}\"; it may be {}", word, fmt::join(choice.words, ", ")));
    into = static_cast<Enum>(at - std::begin(choice.words));
  }

  const std::optional<Error>& fault() const { return fault_; }

 private:
  const toml::node* find(const char* column, Need need) {
    const auto* node = table_.get(column);
    if (node == nullptr && need == Need::kRequired) fault(table_, column, "is missing");
    return node;
  }

  Text keep_text(const char* column, const toml::node& node) {
    const auto* value = node.as_string();
    if (value == nullptr || value->get().empty()) {
      fault(node, column, "holds something that is not a text, or an empty one");
      return {};
    }
    return store_.texts.emplace_back(value->get());
  }

  Text keep_version(const char* column, const toml::node& node) {
    const Text text = keep_text(column, node);
    if (!Version::parse(text))
      fault(node, column, fmt::format("has \"{}\", which is no version", text));
    return text;
  }

  Texts keep_list(const char* column, Need need,
                  Text (RowReader::*keep)(const char*, const toml::node&)) {
    const auto* node = find(column, need);
    if (node == nullptr) return {};
    const auto* array = node->as_array();
    if (array == nullptr) {
      fault(*node, column, "is not a list");
      return {};
    }
    auto& list = store_.lists.emplace_back();
    for (std::size_t i = 0; i < array->size(); ++i)
      list.push_back((this->*keep)(column, *array->get(i)));
    return list;
  }

  std::uint64_t read_number(const char* column, const toml::node& node) {
    const auto* value = node.as_integer();
    if (value != nullptr && value->get() >= 0) return static_cast<std::uint64_t>(value->get());
    fault(node, column, "is not a number from 0 on");
    return 0;
  }

  void fault(const toml::node& node, const char* column, std::string_view what) {
    if (!fault_) fault_ = Error{fmt::format("'{}' {}", column, what), place(path_, node.source())};
  }

  std::string_view path_;
  const toml::table& table_;
  TableStore& store_;
  std::optional<Error> fault_;
};

template <class Row>
Result<void> read_rows(std::string_view path, const char* header, const toml::table& root,
                       std::vector<Row>& rows, TableStore& store) {
  const auto* node = root.get(header);
  const auto* array = node == nullptr ? nullptr : node->as_array();
  if (array == nullptr) return fail(fmt::format("has no [[{}]]", header), std::string(path));
  for (std::size_t i = 0; i < array->size(); ++i) {
    const auto* table = array->get(i)->as_table();
    if (table == nullptr)
      return fail(fmt::format("[[{}]] holds something that is no table", header),
                  place(path, array->get(i)->source()));
    RowReader reader(path, *table, store);
    visit_columns(reader, rows.emplace_back());
    if (reader.fault()) return tl::unexpected<Error>(*reader.fault());
  }
  return {};
}

/// The schema number stands at the top, in some files in [meta].
Result<void> check_schema(std::string_view path, const toml::table& root) {
  const auto* meta = root.get("meta");
  const auto* holder = meta == nullptr ? &root : meta->as_table();
  const auto* schema = holder == nullptr ? nullptr : holder->get("schema");
  const auto* number = schema == nullptr ? nullptr : schema->as_integer();
  if (number == nullptr) return fail("has no 'schema' number", std::string(path));
  if (number->get() != kSchema)
    return fail(fmt::format("has schema {}; this program reads {}", number->get(), kSchema),
                place(path, schema->source()));
  return {};
}

Result<toml::table> parse(std::string_view path, std::string_view text) {
  try {
    return toml::parse(text, path);
  } catch (const toml::parse_error& error) {
    return fail(std::string(error.description()), place(path, error.source()));
  }
}

}  // namespace

std::string_view table_name(std::string_view path) {
  constexpr std::string_view kEnding = ".toml";
  if (!path.ends_with(kEnding)) return {};
  path.remove_suffix(kEnding.size());
  return path_name(path);
}

Result<void> read_toml(const std::string& path, std::string_view text, TableStore& store) {
  const auto root = parse(path, text);
  if (!root) return tl::unexpected<Error>(root.error());
  const auto name = table_name(path);
  auto result = check_schema(path, *root);
  visit_tables(
      [&](const TableName& table, auto& rows) {
        if (result && table.file == name)
          result = read_rows(path, table.header, *root, rows, store);
      },
      store.rows);
  return result;
}

}  // namespace gpuwright::catalog
