#include "report/data.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>

#include "base/strict_json.hpp"
#include "headgauge/advice.hpp"
#include "headgauge/catalogue.hpp"
#include "headgauge/cells.hpp"
#include "headgauge/flags.hpp"
#include "headgauge/metric_names.hpp"
#include "headgauge/patterns.hpp"
#include "headgauge/view.hpp"
#include "results/header.hpp"

namespace headgauge::report {
namespace {

using Json = nlohmann::ordered_json;

Json numbers(const std::vector<double>& values) {
  Json list = Json::array();
  for (const double value : values) list.push_back(json_number(value));
  return list;
}

constexpr Index kChangesShown = 200;  // of each kind

// The page shows at most four digits of a value and two of its error, so it holds these bits of
// their mantissas: what is not there takes no room. Whole numbers stay as they are.
constexpr int kAllBits = std::numeric_limits<float>::digits - 1, kValueBits = 14, kErrorBits = 7;

// Rounds to a float with so many bits of mantissa; what is not finite is undefined.
float rounded_to(double value, int bits) {
  if (!std::isfinite(value)) return std::numeric_limits<float>::quiet_NaN();
  const int dropped = kAllBits - bits;
  auto word = std::bit_cast<std::uint32_t>(static_cast<float>(value));
  if (dropped > 0) {
    word += std::uint32_t{1} << (dropped - 1);
    word &= ~((std::uint32_t{1} << dropped) - 1);
  }
  return std::bit_cast<float>(word);
}

// Puts the first bytes of all numbers first, then all second ones: gzip finds more alike there.
std::string in_planes(const std::string& bytes) {
  std::string planes;
  planes.reserve(bytes.size());
  for (std::size_t byte = 0; byte < sizeof(float); ++byte) {
    for (std::size_t i = byte; i < bytes.size(); i += sizeof(float)) planes += bytes[i];
  }
  return planes;
}

// Lists the parts of a metric that the page shows: all that it has but degrees of freedom.
std::vector<EstimatePart> shown_parts(const LabelledArray& metric) {
  std::vector<EstimatePart> parts(kEstimateParts.begin(), kEstimateParts.end());
  std::erase_if(parts, [&](const EstimatePart& part) {
    return part.numbers == &LabelledArray::degrees_of_freedom || (metric.*part.numbers).empty();
  });
  return parts;
}

// Keeps of the changes of two runs the first that names a head. The tables have the others.
void keep_first_of_head(const Results& results, Json& header) {
  const Json changes = std::move(header["changes"]);  // null: there are none
  header.erase("changes");
  header.erase("change_counts");
  const auto of_head = std::ranges::find_if(
      changes, [](const Json& change) { return change.at("labels").contains("head"); });
  if (results.coord("run") != nullptr && of_head != changes.end()) {
    header["changes"] = Json::array({*of_head});
  }
}

// Adds explanations of the flags, because a results file only has their names.
Json flag_words(const Results& results) {
  Json words = Json::object();
  for (const FlagInfo& info : flag_infos()) {
    words[info.name] = {{"meaning", info.meaning},
                        {"means", info.means},
                        {"next", with_commands(results, info.next)}};
  }
  return words;
}

// Says in words which keys each pattern keeps.
Json pattern_words(const Results& results) {
  Json words = Json::object();
  const Dimension* patterns = results.coord("pattern");
  for (Index k = 0; patterns != nullptr && k < patterns->size(); ++k) {
    words[patterns->label(k)] = pattern_in_words(patterns->label(k));
  }
  return words;
}

int value_bits(const LabelledArray& metric) {
  const bool whole = std::ranges::all_of(metric.values, [](double value) {
    return !std::isfinite(value) || value == std::trunc(value);
  });
  return whole ? kAllBits : kValueBits;
}

// The cells whose change the page would not get right from rounded values, and their changes.
Json kept_changes(const LabelledArray& of, const LabelledArray& change, const std::string& dim) {
  const int bits = value_bits(of);
  std::size_t step = 1;
  for (const Dimension& one : change.dims()) {
    step = one.name() == dim ? 1 : step * static_cast<std::size_t>(one.size());
  }
  const auto runs = static_cast<std::size_t>(change.dim(dim).size());
  Json kept = Json::array();
  for (std::size_t k = 0; k < change.values.size(); ++k) {
    const double value = change.values[k];
    if (!std::isfinite(value)) continue;
    const std::size_t original = k - k / step % runs * step;
    const double made = static_cast<double>(rounded_to(of.values[k], bits)) -
                        static_cast<double>(rounded_to(of.values[original], bits));
    const double error = change.standard_error.empty() ? 0 : change.standard_error[k];
    const double seen = std::max(std::abs(value) / 200, std::isfinite(error) ? error / 20 : 0);
    if (std::abs(made - value) > seen) kept.push_back({k, rounded_to(value, kValueBits)});
  }
  return kept;
}

bool is_difference(const Results& results, const LabelledArray& metric) {
  const std::string dim = intervention_dimension(results);
  const LabelledArray* of = metric.change_of.empty() ? nullptr : results.metric(metric.change_of);
  if (dim.empty() || of == nullptr || of->dim_names() != metric.dim_names() ||
      !metric.has_dim(dim) || !metric.low.empty()) {
    return false;
  }
  const LabelledArray original = of->isel(dim, 0);
  for (Index run = 0; run < metric.dim(dim).size(); ++run) {
    const LabelledArray change = difference(original, of->isel(dim, run));
    const LabelledArray own = metric.isel(dim, run);
    const auto same = [&](const std::vector<double>& a, const std::vector<double>& b) {
      return std::ranges::equal(a, b, [](double x, double y) {
        return x == y || !(std::isfinite(x) || std::isfinite(y));
      });
    };
    // The change of the original is exactly 0.
    if (!same(own.values, change.values)) return false;
    if (run > 0 && !same(own.standard_error, change.standard_error)) return false;
  }
  return true;
}

bool is_left_out(std::string_view name, const LabelledArray& metric) {
  constexpr std::string_view kTwin = "_by_position";
  if (!name.ends_with(kTwin) || metric.has_dim("top_share")) return false;
  const std::string_view of = name.substr(0, name.size() - kTwin.size());
  return find_metric_info(of) != nullptr && of != metric::entropy_with_sinks &&
         of != metric::effective_tokens_with_sinks;
}

}  // namespace

std::vector<PageMetric> page_metrics(const Results& results) {
  std::vector<PageMetric> list;
  std::size_t k = 0;
  for (const auto& [name, metric] : results.metrics) {
    std::string element = fmt::format("metric-{}", k++);
    if (is_left_out(name, metric)) continue;
    list.push_back({name, std::move(element), metric, is_difference(results, metric)});
  }
  return list;
}

std::string overview_text(const Results& results, const std::vector<PageMetric>& metrics) {
  Json list = Json::array();
  for (const PageMetric& metric : metrics) {
    Json& info = list.emplace_back(Json{{"name", metric.name}, {"element", metric.element}});
    if (metric.difference) {
      info["kept_changes"] = kept_changes(results.require_metric(metric.array.change_of),
                                          metric.array, intervention_dimension(results));
    }
    info.update(attributes_to_json(metric.array));
  }
  // The page has the changes of a series from its metrics.
  std::vector<view::Table> tables = view::tables(results, 0);
  if (results.command == Command::series) tables.clear();
  std::ranges::move(view::change_tables(results, kChangesShown), std::back_inserter(tables));
  Json header = header_to_json(results);
  keep_first_of_head(results, header);
  header["flag_words"] = flag_words(results);
  header["pattern_words"] = pattern_words(results);
  return json_text(Json{{"header", std::move(header)},
                        {"metrics", std::move(list)},
                        {"tables", view::to_json(tables)}});
}

std::string numbers_text(const LabelledArray& metric) {
  Json json{{"values", numbers(metric.values)}};
  for (const EstimatePart& part : shown_parts(metric))
    json[part.name] = numbers(metric.*part.numbers);
  if (!metric.rows.empty()) json["rows"] = metric.rows;
  return json_text(json);
}

PackedNumbers packed_numbers(const LabelledArray& metric) {
  // Pages assume little-endian byte order, which all browsers use.
  static_assert(std::endian::native == std::endian::little);
  PackedNumbers packed;
  const auto add = [&](const char* part, const auto& numbers, int bits) {
    if (numbers.empty()) return;
    packed.parts += packed.parts.empty() ? part : fmt::format(" {}", part);
    std::string bytes;
    for (const auto number : numbers) {
      const float value = rounded_to(static_cast<double>(number), bits);
      bytes.append(reinterpret_cast<const char*>(&value), sizeof value);
    }
    packed.bytes += in_planes(bytes);
  };
  add("values", metric.values, value_bits(metric));
  for (const EstimatePart& part : shown_parts(metric)) {
    const bool error = part.numbers == &LabelledArray::standard_error;
    add(part.name, metric.*part.numbers, error ? kErrorBits : kValueBits);
  }
  add("rows", metric.rows, kAllBits);
  return packed;
}

std::string examples_text(const Results& results) {
  return json_text(examples_to_json(results));
}

}  // namespace headgauge::report
