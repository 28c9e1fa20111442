#include "scan/layer_scan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "headgauge/bytes.hpp"
#include "headgauge/journal.hpp"
#include "scan/stopwatch.hpp"

namespace headgauge {

int last_layer_of(const ScanPlan& plan, const SourceInfo& source) {
  const auto& groups = plan.options.measures;
  if (source.has_loss && std::ranges::find(groups, "model") != groups.end()) {
    return source.layers - 1;
  }
  int last = 0;
  for (int layer = 0; layer < source.layers; ++layer) {
    if (plan.selection.layer(layer)) last = layer;
  }
  return last;
}

LayerScan::LayerScan(HeadSource& source, const ScanPlan& plan, const ScanPart& part,
                     ScanTables& tables, ThreadPool& pool, Progress* progress,
                     const std::stop_token& stop)
    : source_(source),
      info_(source.info()),
      plan_(plan),
      part_(part),
      tables_(tables),
      pool_(pool),
      progress_(progress),
      stop_(stop),
      last_layer_(last_layer_of(plan, info_)),
      pass_(source, part.first_layer, part.begins_anywhere ? plan.options.journal : nullptr),
      scanner_(tables.measures, *tables.layout, *tables.plan, pool, stop) {
  const int heads = shares_sums() ? 1 : info_.heads;
  for (int head = 0; head < heads; ++head) {
    sums_.emplace_back(*tables_.plan, tables_.layout->cells());
  }
}

std::size_t LayerScan::bytes(const RowPlan& rows, const CellLayout& layout, int heads) {
  const std::size_t kept = rows.documents().size() == 1 ? 1 : static_cast<std::size_t>(heads);
  return kept * HeadAccumulator::bytes(rows, layout.cells());
}

void LayerScan::run() {
  source_.look_at(queries_looked_at());
  for (int layer = part_.first_layer; layer <= last_layer_ && !stopped_; ++layer) {
    measure_layer(layer);
    if (!stopped_ && plan_.selection.layer(layer)) finish_layer(layer);
  }
  source_.look_at({});
  for (Index document = 0; document < documents() && !stopped_ && part_.reaches_end; ++document) {
    if (part_.reaches_end(document)) pass_.reach(last_layer_ + 1, document);
  }
  stopped_ = stopped_ || stop_.stop_requested();
}

// The queries of each document that are measured; empty: all may be looked at.
std::vector<std::vector<Index>> LayerScan::queries_looked_at() const {
  std::vector<std::vector<Index>> queries;
  if (!part_.only_rows || *plan_.options.queries == 0) return queries;
  for (const DocumentPlan& document : tables_.plan->documents()) {
    std::vector<Index>& of_document = queries.emplace_back();
    for (const Tile& tile : document.tiles) {
      of_document.insert(of_document.end(), tile.queries.begin(), tile.queries.end());
    }
  }
  return queries;
}

void LayerScan::measure_layer(int layer) {
  for (HeadAccumulator& sums : sums_) sums.clear();
  table_ = std::make_unique<LayerTable>(*tables_.plan, *tables_.layout, info_.heads);
  failure_ = nullptr;
  // What others compute arrives meanwhile.
  const Index measured = measure_documents(layer);
  // Of several documents that cannot be measured the first is the one that is told.
  collect_documents(layer, measured);
  if (failure_) std::rethrow_exception(failure_);
}

Index LayerScan::measure_documents(int layer) {
  for (Index document = 0; document < documents() && !stopped_; ++document) {
    if (progress_ != nullptr) {
      progress_->update(fmt::format("measuring layer {}", layer),
                        layer + static_cast<double>(document) / static_cast<double>(documents()),
                        last_layer_ + 1);
    }
    if (journal() != nullptr && !journal()->computes(document)) continue;
    try {
      if (!find_document(layer, document)) measure_document(layer, document);
    } catch (const AttentionError& error) {
      if (journal() == nullptr) throw;
      if (!journal()->computed(layer, document)) journal()->fail(layer, document, error.what());
      failure_ = std::current_exception();
      return document;
    }
    stopped_ = stopped_ || stop_.stop_requested();
  }
  return documents();
}

void LayerScan::collect_documents(int layer, Index end) {
  if (journal() == nullptr) return;
  for (Index document = 0; document < end && !stopped_; ++document) {
    if (!journal()->computes(document)) find_document(layer, document);
    stopped_ = stop_.stop_requested();
  }
}

bool LayerScan::find_document(int layer, Index document) {
  if (journal() == nullptr) return false;
  const std::optional<Bytes> found = journal()->find(layer, document);
  if (!found) return false;
  ByteReader part(*found);
  rows_without_keys_ += part.take<Index>();
  const bool has_heads = part.take<bool>();
  for (int head = 0; has_heads && head < info_.heads; ++head) {
    if (!plan_.selection.contains(layer, head)) continue;
    sums_of(head).read(document, part);
    finish_head(head);
  }
  for (const auto& measure : tables_.measures) {
    measure->read_part(static_cast<int>(document), part);
  }
  if (!part.at_end()) {
    throw BadInputError(fault("journal", "a part as it was kept", "one that is too long",
                              "delete the journal to start again"));
  }
  return true;
}

void LayerScan::measure_document(int layer, Index document) {
  const Stopwatch forward;
  const auto heads = pass_.layer(layer, document);
  forward_seconds_ += forward.seconds();
  const Stopwatch measuring;
  ByteWriter sums;
  const Index left_out = scanner_.rows_without_keys();
  // A context that is too long for a document leaves it without heads, and a part without sums.
  sums.put(!heads.empty());
  for (const HeadInput& head : heads) {
    stopped_ = stop_.stop_requested();
    if (stopped_) break;
    if (progress_ != nullptr) {
      const double part = static_cast<double>(document) + head.head / double(info_.heads);
      progress_->update(fmt::format("measuring layer {}", layer),
                        layer + part / static_cast<double>(documents()), last_layer_ + 1);
    }
    if (!plan_.selection.contains(layer, head.head)) continue;
    const HeadInput under = changed(head);
    HeadAccumulator& of_head = sums_of(head.head);
    scanner_.scan(under, original(head, under), of_head);
    stopped_ = stop_.stop_requested();  // it may have been left in the middle
    if (stopped_) break;
    if (journal() != nullptr) of_head.write(document, sums);
    finish_head(head.head);
  }
  rows_without_keys_ += scanner_.rows_without_keys() - left_out;
  if (journal() != nullptr && !stopped_) {
    ByteWriter part;
    part.put(scanner_.rows_without_keys() - left_out);
    part.put_all(std::span<const std::byte>(sums.take()));
    for (const auto& measure : tables_.measures) {
      measure->write_part(static_cast<int>(document), part);
    }
    journal()->keep(layer, document, part.take());
    pass_.keep_state(document);
  }
  measure_seconds_ += measuring.seconds();
}

// The head under the plan's intervention; a normalizer of its own takes precedence.
HeadInput LayerScan::changed(HeadInput head) const {
  const Normalizer* own = head.normalizer;
  plan_.intervention.apply(head);
  if (own != nullptr) head.normalizer = own;
  return head;
}

// The same head without what the scan changes: its pattern or, where it has none, its
// normalizer. Where the scan changes nothing, without what the source was told to change.
HeadInput LayerScan::original(const HeadInput& head, const HeadInput& under) const {
  HeadInput original = head;
  if (plan_.intervention.pattern != nullptr) original.normalizer = under.normalizer;
  if (!plan_.intervention.changes() && head.own) {
    original.normalizer = head.own->normalizer;
    original.visibility = head.own->visibility;
  }
  return original;
}

void LayerScan::finish_head(int head) {
  if (!shares_sums()) return;
  table_->fill(head, sums_.front());
  sums_.front().clear();
}

void LayerScan::finish_layer(int layer) {
  const Stopwatch measuring;
  if (journal() != nullptr && !journal()->has_all()) {
    for (const auto& measure : tables_.measures) measure->drop_layer();
    return;
  }
  if (!shares_sums()) {
    pool_.for_each(info_.heads, [&](Index head) {
      if (plan_.selection.contains(layer, static_cast<int>(head))) {
        table_->fill(head, sums_[static_cast<std::size_t>(head)]);
      }
    });
  }
  for (const auto& measure : tables_.measures) measure->end_layer(layer, *table_, pool_);
  tables_.layers.push_back(std::move(table_));
  measure_seconds_ += measuring.seconds();
}

}  // namespace headgauge
