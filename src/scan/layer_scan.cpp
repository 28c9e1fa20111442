#include "scan/layer_scan.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "headgauge/bytes.hpp"
#include "headgauge/journal.hpp"
#include "scan/stopwatch.hpp"

namespace headgauge {

int last_layer_of(const ResolvedScan& plan, const SourceInfo& source) {
  const auto& groups = plan.options.measures;
  const bool loss = source.has_text() && std::ranges::find(groups, "model") != groups.end();
  const bool predicts = has_predictions(plan.options.measure, source);
  if (predicts && (loss || !source.answers.empty())) return source.layers - 1;
  int last = 0;
  for (int layer = 0; layer < source.layers; ++layer) {
    if (plan.selection.layer(layer)) last = layer;
  }
  return last;
}

LayerScan::LayerScan(HeadSource& source, const ResolvedScan& plan, const ScanPart& part,
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
      pass_(source, part.first_layer,
            part.begins_anywhere ? plan.options.journal.get() : no_journal()),
      scanner_(tables.measures, *tables.layout, *tables.plan, pool, stop),
      sums_(*tables.plan, *tables.layout) {}

std::size_t LayerScan::bytes(const MeasuredRows& rows, const CellLayout& layout, int heads) {
  return HeadSums::bytes(rows, layout) + LayerTable::unfinished_bytes(rows, layout, heads);
}

void LayerScan::run() {
  source_.look_at(queries_looked_at());
  for (int layer = part_.first_layer; layer <= last_layer_ && !stopped_; ++layer) {
    measure_layer(layer);
    if (!stopped_ && plan_.selection.layer(layer)) finish_layer(layer);
  }
  source_.look_at(nullptr);
  for (Index document = 0; document < documents() && !stopped_ && part_.reaches_end; ++document) {
    if (part_.reaches_end(document)) reach_end(document);
  }
  stopped_ = stopped_ || stop_.stop_requested();
}

void LayerScan::reach_end(Index document) {
  try {
    pass_.reach(last_layer_ + 1, document);
  } catch (const AttentionError& error) {
    if (!journal().keeps()) throw;
    // The first failing document is reported, whichever process has it.
    const Journal::Stage stage(journal(), part_.end_stage);
    journal().fail(-1, document, error.what());
  }
}

// Returns the function that lists the measured queries of a document; none if any query may be
// needed.
QueriesOfDocument LayerScan::queries_looked_at() const {
  if (!part_.only_rows || *plan_.options.queries == 0) return nullptr;
  return [plan = tables_.plan.get()](int number) {
    std::vector<Index> queries;
    const auto document = plan->document(number);
    for (const Tile& tile : document->tiles) {
      queries.insert(queries.end(), tile.queries.begin(), tile.queries.end());
    }
    return queries;
  };
}

void LayerScan::measure_layer(int layer) {
  table_ = std::make_unique<LayerTable>(*tables_.plan, *tables_.layout, info_.heads);
  next_ = 0;
  skip_unmeasured();
  waiting_.clear();
  failure_ = nullptr;
  // Other processes' parts arrive meanwhile.
  const Index measured = measure_documents(layer);
  // If several documents cannot be measured, the first one is reported.
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
    if (!info_.is_measured(document) || !journal().computes(document)) continue;
    try {
      if (!find_document(layer, document)) measure_document(layer, document);
    } catch (const AttentionError& error) {
      if (!journal().computed(layer, document)) journal().fail(layer, document, error.what());
      failure_ = std::current_exception();
      return document;
    }
    stopped_ = stopped_ || stop_.stop_requested();
  }
  return documents();
}

void LayerScan::collect_documents(int layer, Index end) {
  while (next_ < end && !stopped_ && journal().has_all()) {
    const auto here = waiting_.find(next_);
    if (here != waiting_.end()) {
      hand_over(layer, next_, std::move(here->second));
      waiting_.erase(here);
    } else {
      find_document(layer, next_);
    }
    stopped_ = stop_.stop_requested();
  }
}

bool LayerScan::find_document(int layer, Index document) {
  std::optional<Bytes> found = journal().find(layer, document);
  if (!found) return false;
  hand_over(layer, document, std::move(*found));
  return true;
}

void LayerScan::hand_over(int layer, Index document, Bytes part) {
  if (!journal().has_all()) return;
  if (document != next_) {
    waiting_.emplace(document, std::move(part));
    return;
  }
  add_part(layer, document, part);
}

void LayerScan::add_part(int layer, Index document, std::span<const std::byte> bytes) {
  ByteReader part(bytes);
  const auto left_out = part.take<LeftOutRows>();
  for (const Index rows : {left_out.without_keys, left_out.beyond_float32}) {
    if (rows < 0 || rows > kMostRows) {
      throw DamagedPartError("rows of the document", "more than it has");
    }
  }
  left_out_ += left_out;
  const bool has_heads = part.take<bool>();
  for (int head = 0; has_heads && head < info_.heads; ++head) {
    if (!plan_.selection.contains(layer, head)) continue;
    sums_.read(document, part);
    table_->add(head, sums_);
  }
  add_kept(document, part);
}

void LayerScan::add_kept(Index document, ByteReader& part) {
  for (const auto& measure : tables_.measures) {
    measure->read_part(static_cast<int>(document), part);
  }
  part.require_end();
  ++next_;
  skip_unmeasured();
}

// Documents on which heads are not measured have no parts.
void LayerScan::skip_unmeasured() {
  while (next_ < documents() && !info_.is_measured(next_)) ++next_;
}

void LayerScan::measure_document(int layer, Index document) {
  const Stopwatch forward;
  const auto heads = pass_.begin_layer(layer, document);
  forward_seconds_ += forward.seconds();
  const Stopwatch measuring;
  // Adds sums head by head, so that a long document's sums are not held together, unless they must
  // wait or be kept.
  const bool adds = journal().has_all() && document == next_;
  const bool writes = journal().keeps();
  const LeftOutRows left_out_before = scanner_.left_out();
  ByteWriter sums;
  for (const HeadInput& head : heads) {
    stopped_ = stop_.stop_requested();
    if (stopped_) break;
    if (progress_ != nullptr) {
      const double done = static_cast<double>(document) + head.head / double(info_.heads);
      progress_->update(fmt::format("measuring layer {}", layer),
                        layer + done / static_cast<double>(documents()), last_layer_ + 1);
    }
    if (!plan_.selection.contains(layer, head.head)) continue;
    const HeadInput under = changed(head);
    scanner_.scan(under, original(head, under), sums_);
    stopped_ = stop_.stop_requested();  // the head may be incomplete
    if (stopped_) break;
    if (adds) table_->add(head.head, sums_);
    if (writes) sums_.write(sums);
  }
  double finishing = 0;
  if (!stopped_) {
    const Stopwatch rest;
    pass_.finish_layer();
    finishing = rest.seconds();
    ByteWriter kept;
    for (const auto& measure : tables_.measures) {
      measure->write_part(static_cast<int>(document), pool_, kept);
    }
    const Bytes of_measures = kept.take();
    const LeftOutRows left_out = scanner_.left_out() - left_out_before;
    if (writes) {
      ByteWriter part;
      part.put(left_out);
      // If the context is too long for a document, it has no heads, and its part no sums.
      part.put(!heads.empty());
      part.put_all(std::span<const std::byte>(sums.take()));
      part.put_all(std::span(of_measures));
      Bytes bytes = part.take();
      journal().keep(layer, document, bytes);
      pass_.keep_state(document);
      if (!adds) hand_over(layer, document, std::move(bytes));
    }
    if (adds) {
      left_out_ += left_out;
      ByteReader reader(of_measures);
      add_kept(document, reader);
    }
  }
  forward_seconds_ += finishing;
  measure_seconds_ += measuring.seconds() - finishing;
}

// Returns the head under the plan's intervention; the head's own normalizer takes precedence.
HeadInput LayerScan::changed(HeadInput head) const {
  const Normalizer* own = head.normalizer;
  plan_.intervention.apply(head);
  if (own != nullptr) head.normalizer = own;
  return head;
}

// Returns the head without the scan's change: its pattern or, if it has none, its normalizer. If
// the scan changes nothing, returns it without the change of the source.
HeadInput LayerScan::original(const HeadInput& head, const HeadInput& under) const {
  HeadInput original = head;
  if (plan_.intervention.pattern != nullptr) original.normalizer = under.normalizer;
  if (!plan_.intervention.changes() && head.own) {
    original.normalizer = head.own->normalizer;
    original.visibility = head.own->visibility;
  }
  return original;
}

void LayerScan::finish_layer(int layer) {
  if (!journal().has_all()) return;
  const Stopwatch measuring;
  table_->finish();
  for (const auto& measure : tables_.measures) measure->end_layer(layer, *table_, pool_);
  tables_.layers.push_back(std::move(table_));
  measure_seconds_ += measuring.seconds();
}

}  // namespace headgauge
