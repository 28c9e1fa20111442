#include "view/declared_table.hpp"

#include "base/strict_json.hpp"
#include "headgauge/catalogue.hpp"
#include "results/catalogue_text.hpp"
#include "results/declaration.hpp"

namespace headgauge::view {
namespace {

using declaration::Keys;
using declaration::refuse;
using Json = nlohmann::json;

std::string found(Keys& keys, const char* key) {
  return keys.find<std::string>(key).value_or("");
}

void require_known(const std::string& place, const std::string& metric) {
  if (!metric.empty() && metric[0] != '{' && find_metric_info(metric) == nullptr) {
    refuse(place, "there is no metric \"" + metric + "\"");
  }
}

At read_at(Keys& keys) {
  At at;
  const auto object = keys.find<Json>("at").value_or(Json::object());
  for (const auto& [dim, label] : object.items()) {
    at.emplace_back(dim, label.is_string() ? label.get<std::string>() : label.dump());
  }
  return at;
}

DeclaredColumn read_column(Json object, const std::string& table) {
  Keys keys(std::move(object), "columns of " + table);
  DeclaredColumn column;
  column.metric = keys.text("metric");
  column.title = found(keys, "title");
  column.explains = keys.find<bool>("explains").value_or(false);
  column.meaning = found(keys, "meaning");
  column.at = read_at(keys);
  column.each = found(keys, "each");
  column.over = found(keys, "over");
  column.show = keys.has("show") ? keys.text("show") : "number";
  const MetricInfo* const info = find_metric_info(column.metric);
  const bool percent = column.show.find("percent") != column.show.npos;
  column.unit = declaration::unit_of(keys,
                                     percent                       ? "%"
                                     : info && column.each.empty() ? info->unit
                                                                   : "",
                                     table);
  column.part = found(keys, "part");
  column.error = keys.find<bool>("error").value_or(false);
  column.interval = keys.find<bool>("interval").value_or(false);
  column.star = found(keys, "star");
  column.ratio_to = found(keys, "ratio_to");
  column.rank = keys.find<int>("rank").value_or(0);
  column.beside = found(keys, "beside");
  column.not_first = keys.find<bool>("not_first").value_or(false);
  keys.done();
  require_known("columns of " + table, column.metric);
  if (column.star != "p" && column.star != "gain") require_known(table, column.star);
  return column;
}

std::vector<DeclaredTable> read_tables() {
  std::vector<DeclaredTable> tables;
  for (const Json& group : parse_json(catalogue_text(), "catalogue")) {
    const auto found = group.find("tables");
    if (found == group.end()) continue;
    for (const Json& table : *found) {
      tables.push_back(read_table(table, group.at("group").get<std::string>()));
    }
  }
  return tables;
}

}  // namespace

DeclaredTable read_table(Json object, const std::string& group) {
  Keys keys(std::move(object), "tables of " + group);
  DeclaredTable table;
  table.name = keys.text("name");
  table.title = found(keys, "title");
  table.of = found(keys, "for");
  table.rows = keys.take<std::vector<std::string>>("rows");
  if (table.rows.empty()) refuse(table.name, "\"rows\" names no dim");
  table.lacks = found(keys, "lacks");
  table.has = found(keys, "has");
  table.judges = found(keys, "judges");
  table.starts = found(keys, "starts");
  table.only = found(keys, "only");
  table.best = found(keys, "best");
  table.faint_unless = found(keys, "faint_unless");
  table.shown = found(keys, "shown");
  table.sorted = keys.find<bool>("sorted").value_or(false);
  table.lead = keys.find<bool>("lead").value_or(false);
  table.most = keys.find<Index>("most").value_or(0);
  table.notes = keys.find<std::vector<std::string>>("notes").value_or(std::vector<std::string>());
  for (Json& column : keys.list("columns")) {
    table.columns.push_back(read_column(std::move(column), table.name));
  }
  keys.done();
  for (const std::string& metric :
       {table.judges, table.only, table.best, table.faint_unless, table.shown}) {
    require_known(table.name, metric);
  }
  return table;
}

const std::vector<DeclaredTable>& declared_tables() {
  static const std::vector<DeclaredTable> read = read_tables();
  return read;
}

}  // namespace headgauge::view
