// Which keys of a head are its sinks (docs/mathematics.md 7g): keys that take weight whatever the
// query, found by a sample of the head's own rows before the rows are measured.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "scan/head_scanner.hpp"

namespace headgauge {
namespace {

constexpr Index kProbes = 64;  // rows that are asked, spread evenly over the document
constexpr Index kProbesTogether = 16;
constexpr Index kFarProbes = 16;     // a key is judged by so many that see it from afar, or more
constexpr Index kAfar = 32;          // tokens: even weights put less than 1/kAfar on such a key
constexpr double kSinkShare = 0.05;  // of the weight of the rows that ask, in the mean

// Shares of weight that some rows put on each key from afar, and how many rows these are.
struct Asked {
  std::vector<double> shares;
  std::vector<Index> rows;
  explicit Asked(Index keys) : shares(keys), rows(keys) {}
  void add(const Row& row, bool cross) {
    if (row.left_out != Row::LeftOut::no || row.sums.abs_mass == 0) return;
    for (Index i = 0; i < row.n(); ++i) {
      const Index key = row.key(i);
      if (!cross && std::abs(row.query - key) < kAfar) continue;
      shares[key] += std::abs(static_cast<double>(row.weights[i])) / row.sums.abs_mass;
      ++rows[key];
    }
  }
};

std::vector<Tile> probes_of(Index length) {
  const Index count = std::min(length, kProbes);
  std::vector<Tile> tiles;
  for (Index p = 0; p < count; ++p) {
    if (p % kProbesTogether == 0) tiles.emplace_back();
    tiles.back().queries.push_back((2 * p + 1) * length / (2 * count));
  }
  return tiles;
}

}  // namespace

std::vector<Index> HeadScanner::find_sinks(const HeadInput& head) {
  const Index length = plan_.used_lengths()[head.document];
  if (!head.cross && length < kAfar + kFarProbes) return {};
  const Index keys = head.key_count(length);
  const std::vector<Tile> tiles = probes_of(length);
  std::vector<Asked> asked(tiles.size(), Asked(keys));
  pool_.for_each_slot(std::ssize(tiles), [&](Index i, int slot) {
    if (stop_.stop_requested()) return;
    Workspace& work = workspaces_[slot];
    weigh_tile(head, tiles[i], false, work);
    for (const Row& row : work.rows) asked[i].add(row, head.cross);
  });
  std::vector<Index> sinks;
  for (Index key = 0; key < keys; ++key) {
    double share = 0;
    Index rows = 0;
    for (const Asked& some : asked) {
      share += some.shares[key];
      rows += some.rows[key];
    }
    if (rows >= kFarProbes && share > kSinkShare * static_cast<double>(rows)) sinks.push_back(key);
  }
  return sinks;
}

}  // namespace headgauge
