#include "reproduce/early_warning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "headgauge/catalogue.hpp"
#include "headgauge/cells.hpp"
#include "headgauge/metric_names.hpp"
#include "headgauge/scan.hpp"
#include "results/declared.hpp"

namespace headgauge {
namespace {

constexpr int kLongestPiece = 1024;
constexpr std::size_t kManyPieces = 32, kMostPieces = 64;
constexpr int kSetSize = 20;  // set size at which separability is judged

// Chooses the longest pieces that are numerous enough; otherwise the shortest ones.
TextPieces pieces_of(const CutText& cut, const SourceInfo& model, int& tokens) {
  const Index most = model.max_length > 0 ? model.max_length : model.trained_length;
  tokens = kLongestPiece;
  while (tokens > kShortestPiece && most > 0 && tokens > most) tokens /= 2;
  TextPieces pieces = cut(tokens);
  while (tokens > kShortestPiece && pieces.count < kManyPieces) pieces = cut(tokens /= 2);
  pieces.count = most > 0 && tokens > most ? 0 : std::min(pieces.count, kMostPieces);
  return pieces;
}

// Returns the mean fall of a metric over the heads that have both values: in the octave that ends
// at `length` / 2, minus that in the octave that ends at `length`.
double mean_fall(const Results& piece, const char* metric, double length) {
  const auto before = find_label(piece, "position", length / 2);
  const auto last = find_label(piece, "position", length);
  double sum = 0;
  int heads = 0;
  for (const HeadName& head : measured_heads(piece)) {
    const auto at = [&](Index position) {
      return find_cell(piece, twin_by_position(metric),
                       {{"layer", head.layer_index},
                        {"head", head.head_index},
                        {"position", position},
                        {"top_n", 0}});
    };
    const auto first = at(*before), second = at(*last);
    if (!first || !second) continue;
    sum += first->value - second->value;
    ++heads;
  }
  return heads > 0 ? sum / heads : kUndefined;
}

struct OfPiece {
  double entropy_fall = kUndefined, separability_fall = kUndefined;
  double loss_first = kUndefined, loss_second = kUndefined;
};

OfPiece read_piece(const Results& piece, int tokens) {
  const double half = tokens / 2;
  // Means over t = 1 .. L-1; the mean up to 2L includes both halves.
  const LabelledArray& loss = piece.require_metric(metric::loss);
  const double first = loss({0, 0}), whole = loss({0, 1});
  return {mean_fall(piece, metric::entropy_normalized_with_sinks, half),
          mean_fall(piece, metric::separability_excess, half), first,
          ((tokens - 1) * whole - (half - 1) * first) / half};
}

ScanOptions scan_of_pieces(const LimitsOptions& options, const SourceInfo& model, int tokens) {
  ScanOptions scan;
  scan.lengths = {tokens / 2, tokens};
  scan.measures = {"weights", "model"};
  if (model.has_x) scan.measures.emplace_back("separability");
  scan.x = options.x;
  scan.threads = options.threads;
  scan.seed = options.seed;
  scan.examples = 0;
  scan.measure.top_n = {kSetSize};
  return scan;
}

void write(const std::vector<OfPiece>& pieces, int tokens, Results& results) {
  std::vector<double> numbers(pieces.size());
  std::iota(numbers.begin(), numbers.end(), 0.0);
  results.set_coord("piece", numbers);
  results.settings["piece_tokens"] = tokens;
  const auto add = [&](const char* name, double OfPiece::*member) {
    LabelledArray& metric = add_declared(results, name);
    std::ranges::transform(pieces, metric.values.begin(), member);
  };
  add(metric::entropy_fall, &OfPiece::entropy_fall);
  add(metric::separability_fall, &OfPiece::separability_fall);
  add(metric::loss_first_half, &OfPiece::loss_first);
  add(metric::loss_second_half, &OfPiece::loss_second);
}

}  // namespace

void measure_early_warning(const CutText& cut, const LimitsOptions& options,
                           const SourceInfo& model, Results& results, Progress* progress,
                           const std::stop_token& stop) {
  if (!cut || !model.has_loss) return;
  int tokens = 0;
  const TextPieces pieces = pieces_of(cut, model, tokens);
  if (pieces.count < kFewestPieces) return;
  const ScanOptions scan_options = scan_of_pieces(options, model, tokens);
  std::vector<OfPiece> found;
  for (std::size_t piece = 0; piece < pieces.count; ++piece) {
    if (progress != nullptr) {
      progress->update(fmt::format("piece {}", piece), static_cast<double>(piece),
                       static_cast<double>(pieces.count));
    }
    const Results measured = scan(*pieces.open(piece), scan_options, nullptr, stop);
    if (measured.partial || stop.stop_requested()) return;
    found.push_back(read_piece(measured, tokens));
  }
  write(found, tokens, results);
}

}  // namespace headgauge
