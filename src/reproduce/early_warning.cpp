#include "reproduce/early_warning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "findings/answers.hpp"
#include "headgauge/catalogue.hpp"
#include "headgauge/cells.hpp"
#include "headgauge/metric_names.hpp"
#include "headgauge/scan.hpp"
#include "results/declared.hpp"

namespace headgauge {
namespace {

constexpr int kLongestPiece = 1024;
constexpr std::size_t kManyPieces = 32, kMostPieces = 64;
constexpr int kCaseQueries = 32;  // measured queries per position bin of a case
constexpr int kSetSize = 20;      // set size at which separability is judged

using Numbers = std::vector<double>;

// Scans pieces one by one. Returns what `read` takes of each; nothing if `stop` is requested.
template <class OptionsOf, class Read>
std::vector<Numbers> measure_each(const TextPieces& pieces, const char* what,
                                  const OptionsOf& options_for, const Read& read,
                                  Progress* progress, const std::stop_token& stop) {
  std::vector<Numbers> found;
  for (std::size_t piece = 0; piece < pieces.count; ++piece) {
    if (progress != nullptr) {
      progress->update(fmt::format("{} {}", what, piece), static_cast<double>(piece),
                       static_cast<double>(pieces.count));
    }
    const auto source = pieces.open(piece);
    const Results one = scan(*source, options_for(source->info()), nullptr, stop);
    if (one.partial || stop.stop_requested()) return {};
    found.push_back(read(one, source->info()));
  }
  return found;
}

// Adds these metrics over the numbers of the pieces.
void write(const std::vector<Numbers>& found, const char* coord,
           std::initializer_list<const char*> metrics, Results& results) {
  Numbers numbers(found.size());
  std::iota(numbers.begin(), numbers.end(), 0.0);
  results.set_coord(coord, numbers);
  std::size_t column = 0;
  for (const char* name : metrics) {
    LabelledArray& metric = add_declared(results, name);
    std::ranges::transform(found, metric.values.begin(),
                           [&](const Numbers& of_piece) { return of_piece[column]; });
    ++column;
  }
}

ScanOptions scan_of_piece(const LimitsOptions& options, const SourceInfo& source,
                          std::vector<int> lengths, const char* measure) {
  ScanOptions scan;
  scan.lengths = std::move(lengths);
  scan.measures = {"weights", measure};
  if (source.has_x) scan.measures.emplace_back("separability");
  scan.x = options.x;
  scan.threads = options.threads;
  scan.seed = options.seed;
  scan.examples = 0;
  scan.measure.top_n = {kSetSize};
  return scan;
}

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

Numbers read_piece(const Results& piece, int tokens) {
  const double half = tokens / 2;
  // Means over t = 1 .. L-1; the mean up to 2L includes both halves.
  const LabelledArray& loss = piece.require_metric(metric::loss);
  const double first = loss({0, 0}), whole = loss({0, 1});
  return {mean_fall(piece, metric::entropy_normalized_with_sinks, half),
          mean_fall(piece, metric::separability_excess, half), first,
          ((tokens - 1) * whole - (half - 1) * first) / half};
}

Numbers read_case(const Results& one, const Dimension& tasks, Index tokens) {
  const auto task = tasks.find(one.coord_names(kOutcome).front());
  const auto over_heads = [&, heads = measured_heads(one)](const char* metric) {
    return mean_over_heads(one, metric, heads, {}).value_or(kUndefined);
  };
  return {static_cast<double>(task.value_or(-1)), static_cast<double>(tokens),
          one.at(metric::loss, {0, 0}),           one.at(metric::answer_right, {0}),
          over_heads(metric::entropy_normalized), over_heads(metric::separability_excess),
          over_heads(metric::effective_tokens)};
}

}  // namespace

void measure_early_warning(const LimitsOptions& options, const SourceInfo& model, Results& results,
                           Progress* progress, const std::stop_token& stop) {
  if (!options.cut || !model.has_loss) return;
  int tokens = 0;
  const TextPieces pieces = pieces_of(options.cut, model, tokens);
  if (pieces.count < kFewestPieces) return;
  const auto found = measure_each(
      pieces, "piece",
      [&](const SourceInfo&) {
        return scan_of_piece(options, model, {tokens / 2, tokens}, "model");
      },
      [&](const Results& one, const SourceInfo&) { return read_piece(one, tokens); }, progress,
      stop);
  if (found.empty()) return;
  results.settings["piece_tokens"] = tokens;
  write(found, "piece",
        {metric::entropy_fall, metric::separability_fall, metric::loss_first_half,
         metric::loss_second_half},
        results);
}

void measure_retrieval(const LimitsOptions& options, Results& results, Progress* progress,
                       const std::stop_token& stop) {
  if (!options.answers) return;
  ScanOptions asked;
  asked.measures = {"answers"};
  asked.threads = options.threads;
  const Results answered = scan(*options.answers(), asked, progress, stop);
  if (answered.partial || stop.stop_requested()) return;
  const auto found = measure_each(
      options.cases, "case",
      [&](const SourceInfo& source) {
        const auto tokens = static_cast<int>(source.documents.front());
        ScanOptions scan = scan_of_piece(options, source, {tokens}, "answers");
        scan.queries = kCaseQueries;
        return scan;
      },
      [&](const Results& one, const SourceInfo& source) {
        return read_case(one, answered.require_coord(kOutcome), source.documents.front());
      },
      progress, stop);
  if (stop.stop_requested()) return;
  copy_answers(answered, results);
  results.text.tasks = answered.text.tasks;
  write(
      found, "answered_case",
      {metric::case_task, metric::case_tokens, metric::case_answer_loss, metric::case_answer_right,
       metric::case_entropy, metric::case_separability, metric::case_selected},
      results);
}

}  // namespace headgauge
