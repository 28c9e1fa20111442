#include "scan/output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "headgauge/cells.hpp"

namespace headgauge {
namespace {

template <class T>
std::vector<double> numbers(const std::vector<T>& values) {
  return {values.begin(), values.end()};
}

// Adds a metric of means with all cells undefined; it may belong to a user's own measure.
LabelledArray& add_means(Results& results, const std::string& name, const MetricInfo& info,
                         const std::vector<std::string>& outer) {
  std::vector<std::string> dims = outer;
  dims.insert(dims.end(), info.dims.begin(), info.dims.end());
  LabelledArray& metric = results.add_metric(name, dims, info.unit);
  metric.none = info.none;
  metric.identifier = info.identifier;
  return metric.with_standard_errors().with_rows();
}

}  // namespace

void write_coords(const Measured& measured, const MeasuredRows& plan, const MeasureOptions& options,
                  const SourceInfo& source, Results& results) {
  results.set_coord("layer", numbers(measured.layers));
  results.set_coord("head", numbers(measured.heads));
  results.set_coord("length", numbers(plan.lengths()));
  results.set_coord("position", numbers(plan.edges()));
  results.set_coord("top_n", numbers(options.top_n));
  results.set_coord("temperature", options.temperatures);
  results.set_coord("epsilon", options.epsilons);
  std::vector<double> kv_heads, windows;
  std::vector<std::string> types;
  for (int head : measured.heads) {
    kv_heads.push_back(head / std::max(1, source.heads / std::max(1, source.kv_heads)));
  }
  for (int layer : measured.layers) {
    const auto l = static_cast<std::size_t>(layer);
    types.push_back(l < source.layer_types.size() ? source.layer_types[l] : "full_attention");
    windows.push_back(l < source.windows.size() ? static_cast<double>(source.windows[l]) : 0);
  }
  results.set_coord("kv_head", kv_heads);
  results.set_coord("layer_type", types);
  results.set_coord("window", windows);
}

void write_row_metrics(const Measured& measured, const CellLayout& layout,
                       const std::vector<const LayerTable*>& tables, const HeadSelection& selection,
                       Results& results) {
  // `outer`: the dims before the metric's own. `of` returns the statistics of a head in a layer's
  // table, by the index along the third outer dim and the flat index along the metric's own dims.
  const auto fill = [&](const std::string& name, const MetricInfo& info,
                        const std::vector<std::string>& outer, const auto& of) {
    LabelledArray& metric = add_means(results, name, info, outer);
    const LabelledArray own(
        std::vector(metric.dims().begin() + std::ssize(outer), metric.dims().end()));
    metric.each([&](std::span<const Index> cell, std::size_t) {
      const int head = measured.heads[cell[1]];
      if (!selection.contains(measured.layers[cell[0]], head)) return;
      const Index copy = outer.size() > 2 ? cell[2] : 0;
      const Index inner = own.offset(cell.subspan(outer.size()));
      metric.set(cell, of(*tables[cell[0]], head, copy, inner));
    });
  };
  for (const CellRange& range : layout.ranges()) {
    const MetricInfo& info = range.metric;
    if (info.kind == MetricKind::hidden) continue;
    std::vector<std::string> outer = {"layer", "head"};
    if (range.by_length) outer.emplace_back("length");
    fill(info.name, info, outer, [&](const LayerTable& table, int head, Index length, Index inner) {
      return table.at(range.handle, head, length, inner);
    });
    if (!info.by_position) continue;
    fill(twin_by_position(info.name), info, {"layer", "head", "position"},
         [&](const LayerTable& table, int head, Index bin, Index inner) {
           return table.at_position(range.handle, head, bin, inner);
         });
  }
  leave_out_not_finite(results);
}

void leave_out_not_finite(Results& results) {
  for (auto& [name, metric] : results.metrics) {
    Index left_out = 0;
    metric.each([&](std::span<const Index> cell, std::size_t offset) {
      const Estimate mean = metric.at_offset(offset);
      if (std::isfinite(mean.value) || mean.rows == 0) return;
      metric.set(cell, Estimate{});
      ++left_out;
    });
    if (left_out == 0) continue;
    results.notices.push_back(fmt::format("{}: {} of {} means are undefined, {}", name, left_out,
                                          metric.size(), kNotFinite));
  }
}

std::vector<std::string> drop_whole_model_metrics(Results& results) {
  std::vector<std::string> dropped;
  std::erase_if(results.metrics, [&](const auto& entry) {
    const auto& [name, metric] = entry;
    if (metric.has_dim("layer")) return false;
    dropped.push_back(name);
    return true;
  });
  return dropped;
}

std::vector<std::string> short_document_notices(std::span<const int> lengths,
                                                const SourceInfo& source, const Results& results) {
  std::vector<std::string> notices;
  const std::vector<std::string>& names = results.text.names;
  if (!source.has_text()) {
    const auto is_short = [&](Index tokens) { return tokens > 0 && tokens < lengths.back(); };
    const auto count = std::ranges::count_if(source.measured_lengths(), is_short);
    if (count > 0) {
      notices.push_back(fmt::format(
          "{} of {} cases have fewer than {} tokens: heads are measured on them only up to a "
          "shorter length, or not at all",
          count, names.size(), lengths.back()));
    }
    return notices;
  }
  std::size_t d = 0;  // number among the measured documents, which have names
  for (const Index tokens : source.measured_lengths()) {
    if (tokens == 0) continue;
    const std::size_t number = d++;
    if (tokens >= lengths.back()) continue;
    int reached = 0;
    for (const int length : lengths) {
      if (length <= tokens) reached = length;
    }
    notices.push_back(fmt::format(
        "{} has {} token{} and takes part {}",
        number < names.size() ? names[number] : fmt::format("document {}", number + 1), tokens,
        tokens == 1 ? "" : "s",
        reached > 0 ? fmt::format("only up to length {}", reached) : "at none of the lengths"));
  }
  return notices;
}

std::string untrained_notice(Index longest, const SourceInfo& source) {
  if (source.trained_length == 0 || longest <= source.trained_length) return "";
  return fmt::format(
      "{} was trained on contexts of {} tokens: at longer ones, up to {}, it is measured outside "
      "of what it has learnt",
      source.name, source.trained_length, longest);
}

std::string why_no_loss(const SourceInfo& source) {
  if (source.family == "dump") return source.name + " gives no logits";
  return source.name + (source.causal ? " was saved without the head that predicts the next token"
                                      : " sees the whole text and predicts no next token");
}

std::vector<int> sizes_beyond(const std::vector<int>& top_n, Index longest) {
  std::vector<int> beyond;
  std::ranges::copy_if(top_n, std::back_inserter(beyond), [=](int n) { return n >= longest; });
  return beyond;
}

void write_settings(const ScanOptions& options, Results& results) {
  ScanOptions written = options;
  results.command = Command::scan;
  write_settings(options_of(written), results.settings);
}

}  // namespace headgauge
