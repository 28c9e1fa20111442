// Measures the heads layer by layer, in all documents.
#pragma once

#include <map>
#include <memory>
#include <stop_token>

#include "headgauge/bytes.hpp"
#include "headgauge/heads.hpp"
#include "headgauge/journal.hpp"
#include "headgauge/parallel.hpp"
#include "scan/forward_pass.hpp"
#include "scan/head_scanner.hpp"
#include "scan/run.hpp"
#include "scan/statistics.hpp"

namespace headgauge {

// Returns the last layer of a pass; if the loss is needed, this is the last layer of the model.
int last_layer_of(const ResolvedScan& plan, const SourceInfo& source);

class LayerScan {
 public:
  LayerScan(HeadSource& source, const ResolvedScan& plan, const ScanPart& part, ScanTables& tables,
            ThreadPool& pool, Progress* progress, const std::stop_token& stop);

  // Measures every layer of the pass; each finished layer adds a table. Parts that a journal has
  // are taken from it.
  void run();
  bool stopped() const { return stopped_; }
  const LeftOutRows& left_out() const { return left_out_; }
  double forward_seconds() const { return forward_seconds_; }
  double measure_seconds() const { return measure_seconds_; }

  // Returns the memory for the sums of the rows of a layer, without its table.
  static std::size_t bytes(const MeasuredRows& rows, const CellLayout& layout, int heads);

 private:
  Journal& journal() const { return plan_.options.journal; }
  Index documents() const { return std::ssize(tables_.plan->used_lengths()); }
  // Returns the function that lists the measured queries of a document; none if any query may be
  // needed.
  QueriesOfDocument queries_looked_at() const;
  HeadInput changed(HeadInput head) const;
  HeadInput original(const HeadInput& head, const HeadInput& under) const;
  void measure_layer(int layer);
  // Measures the documents of this process. Returns the first one that failed, or the number of
  // documents.
  Index measure_documents(int layer);
  void collect_documents(int layer, Index end);
  bool find_document(int layer, Index document);
  void measure_document(int layer, Index document);
  // Adds a part of a document, or keeps it until the documents before it are added.
  void hand_over(int layer, Index document, Bytes part);
  void add_part(int layer, Index document, std::span<const std::byte> bytes);
  // Adds what the measures kept of a document, the last of its data.
  void add_kept(Index document, ByteReader& part);
  void skip_unmeasured();
  void finish_layer(int layer);
  void reach_end(Index document);

  HeadSource& source_;
  const SourceInfo& info_;
  const ResolvedScan& plan_;
  const ScanPart& part_;
  ScanTables& tables_;
  ThreadPool& pool_;
  Progress* progress_;
  std::stop_token stop_;
  int last_layer_;
  ForwardPass pass_;
  HeadScanner scanner_;
  HeadSums sums_;
  // State of the present layer:
  std::unique_ptr<LayerTable> table_;
  Index next_ = 0;  // next document to add
  std::map<Index, Bytes> waiting_;
  std::exception_ptr failure_;

  bool stopped_ = false;
  LeftOutRows left_out_;
  double forward_seconds_ = 0, measure_seconds_ = 0;
};

}  // namespace headgauge
