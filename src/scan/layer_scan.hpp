// Measures the heads of one layer after the other, in all documents.
#pragma once

#include <memory>
#include <stop_token>
#include <vector>

#include "headgauge/heads.hpp"
#include "headgauge/parallel.hpp"
#include "scan/forward_pass.hpp"
#include "scan/head_scanner.hpp"
#include "scan/run.hpp"
#include "scan/statistics.hpp"

namespace headgauge {

// The last layer of a pass: all layers, where the loss is asked for.
int last_layer_of(const ScanPlan& plan, const SourceInfo& source);

class LayerScan {
 public:
  LayerScan(HeadSource& source, const ScanPlan& plan, const ScanPart& part, ScanTables& tables,
            ThreadPool& pool, Progress* progress, const std::stop_token& stop);

  // Measures every layer of the pass, of which each that was finished adds a table. What a journal
  // has of them is taken from there.
  void run();
  bool stopped() const { return stopped_; }
  Index rows_without_keys() const { return rows_without_keys_; }
  double forward_seconds() const { return forward_seconds_; }
  double measure_seconds() const { return measure_seconds_; }

  // Memory for the sums of the rows of a layer.
  static std::size_t bytes(const RowPlan& rows, const CellLayout& layout, int heads);

 private:
  Journal* journal() const { return plan_.options.journal; }
  Index documents() const { return std::ssize(tables_.plan->documents()); }
  // Heads of a single document are done when they were measured: they share their sums.
  bool shares_sums() const { return documents() == 1; }
  HeadAccumulator& sums_of(int head) { return sums_[shares_sums() ? 0 : head]; }
  std::vector<std::vector<Index>> queries_looked_at() const;
  HeadInput changed(HeadInput head) const;
  HeadInput original(const HeadInput& head, const HeadInput& under) const;
  void measure_layer(int layer);
  // Measures what this process has to; the first document that could not be, or their number.
  Index measure_documents(int layer);
  void collect_documents(int layer, Index end);
  bool find_document(int layer, Index document);
  void measure_document(int layer, Index document);
  void finish_head(int head);
  void finish_layer(int layer);

  HeadSource& source_;
  const SourceInfo& info_;
  const ScanPlan& plan_;
  const ScanPart& part_;
  ScanTables& tables_;
  ThreadPool& pool_;
  Progress* progress_;
  std::stop_token stop_;
  int last_layer_;
  ForwardPass pass_;
  HeadScanner scanner_;
  std::vector<HeadAccumulator> sums_;
  std::unique_ptr<LayerTable> table_;  // of the present layer
  std::exception_ptr failure_;         // of the present layer
  bool stopped_ = false;
  Index rows_without_keys_ = 0;
  double forward_seconds_ = 0, measure_seconds_ = 0;
};

}  // namespace headgauge
