#include <algorithm>
#include <nlohmann/json.hpp>

#include "cli/check_options.h"
#include "report/layout.h"

namespace gpuwright::cli {
namespace {

// How a rule stands to the others is also how badly it can speak: advice never says "error".
const char* weight_of(Standing standing) {
  switch (standing) {
    case Standing::kLink:
      return "link";
    case Standing::kOwn:
      return "own";
    case Standing::kAdvice:
      break;
  }
  return "advice";
}

struct Row {
  Rung rung;
  const Rule* rule;
};

std::vector<Row> rows_of(const DiagnoseOptions& options) {
  std::vector<Row> rows;
  const bool all = options.only.empty() && options.only_ids.empty();
  for (const auto& table : all_rules()) {
    if (table.log) continue;  // `check` reads no logs.
    for (const auto& rule : table.rules)
      if ((all || options.only.contains(table.rung) || options.only_ids.contains(rule.id)) &&
          !options.skip.contains(rule.id))
        rows.push_back({table.rung, &rule});
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.rung < b.rung; });
  return rows;
}

}  // namespace

std::string rule_list(const CheckOptions& options) {
  const auto rows = rows_of(options.diagnose);
  if (options.format == "json") {
    nlohmann::ordered_json out = nlohmann::ordered_json::array();
    for (const auto& [rung, rule] : rows)
      out.push_back({{"id", rule->id},
                     {"rung", name_of(rung)},
                     {"standing", weight_of(rule->standing)},
                     {"holds", rule->holds}});
    return out.dump(2) + "\n";
  }
  std::size_t width = 0;
  for (const auto& row : rows) width = std::max(width, columns(row.rule->id));
  Page page(options.style.color, options.style.width);
  for (const auto& [rung, rule] : rows)
    page.paragraph(pad(rule->id, width + 2) + pad(weight_of(rule->standing), 8), rule->holds);
  return page.text();
}

}  // namespace gpuwright::cli
