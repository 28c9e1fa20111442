// Finds the sinks of a head (docs/mathematics.md 7g): keys that get weight whatever the query is.
// Uses a sample of the head's own rows, before the rows are measured.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "scan/head_scanner.hpp"

namespace headgauge {
namespace {

constexpr Index kProbes = 64;  // minimum number of sampled rows, evenly spaced over the document
constexpr Index kProbesTogether = 16;
constexpr Index kFarProbes = 16;     // minimum number of rows that judge a key from afar
constexpr Index kAfar = 32;          // tokens
constexpr double kSinkShare = 0.05;  // share of the weight of the sampled rows, on average
constexpr double kTimesChance = 3;   // and this many times the share of uniform weights

// The weight that sampled rows put on each key from afar, the share of uniform weights there, and
// the number of these rows.
struct Asked {
  std::vector<double> shares, chances;
  std::vector<Index> rows;
  explicit Asked(Index keys) : shares(keys), chances(keys), rows(keys) {}
  // `seen`: the keys of the row, including those that a mask hides.
  void add(const Row& row, KeyRange seen, bool cross) {
    if (row.left_out != Row::LeftOut::no || row.sums.abs_mass == 0) return;
    const auto is_near = [&](Index key) { return !cross && std::abs(row.query - key) < kAfar; };
    for (Index key = seen.begin; key < seen.end; ++key) {
      if (!is_near(key)) ++rows[key];
    }
    for (Index i = 0; i < row.n(); ++i) {
      const Index key = row.key(i);
      if (is_near(key)) continue;
      shares[key] += std::abs(static_cast<double>(row.weights[i])) / row.sums.abs_mass;
      chances[key] += 1 / static_cast<double>(row.n());
    }
  }
};

// `reach`: number of rows that see a key from afar, if fewer than all to the end of the text.
std::vector<Tile> probes_of(Index length, Index reach) {
  const Index enough = (kFarProbes * length + reach - 1) / reach;
  const Index count = std::min(length, std::max(kProbes, enough));
  std::vector<Tile> tiles;
  for (Index p = 0; p < count; ++p) {
    if (p % kProbesTogether == 0) tiles.emplace_back();
    tiles.back().queries.push_back((2 * p + 1) * length / (2 * count));
  }
  return tiles;
}

}  // namespace

void HeadScanner::find_sinks(HeadInput& head) {
  const Index length = plan_.used_lengths()[head.document];
  const Index keys = head.key_count(length);
  const bool windowed = head.visibility.kind() == Visibility::Kind::sliding_window;
  const Index reach = windowed ? std::min(length, head.visibility.window()) - kAfar : length;
  head.sinks_judged =
      head.cross ? length >= kFarProbes : length >= kAfar + kFarProbes && reach >= kFarProbes;
  if (!head.sinks_judged) return;
  const std::vector<Tile> tiles = probes_of(length, reach);
  std::vector<Asked> asked(tiles.size(), Asked(keys));
  pool_.for_each_slot(std::ssize(tiles), [&](Index i, int slot) {
    if (stop_.stop_requested()) return;
    Workspace& work = workspaces_[slot];
    weigh_tile(head, tiles[i], Purpose::find_sinks, work);
    for (const Row& row : work.rows) {
      asked[i].add(row, head.visibility.range(row.query, keys), head.cross);
    }
  });
  for (Index key = 0; key < keys; ++key) {
    double share = 0, chance = 0;
    Index rows = 0;
    for (const Asked& some : asked) {
      share += some.shares[key];
      chance += some.chances[key];
      rows += some.rows[key];
    }
    const double least = std::max(kSinkShare * static_cast<double>(rows), kTimesChance * chance);
    if (rows >= kFarProbes && share > least) sinks_.push_back(key);
  }
  head.sinks = sinks_;
}

}  // namespace headgauge
