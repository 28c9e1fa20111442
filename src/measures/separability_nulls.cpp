#include "measures/separability_nulls.hpp"

#include <algorithm>
#include <cmath>

namespace headgauge {

namespace {

double largest_outside(const SelectionBlock::Line& line, int size) {
  float largest = 0;
  for (Index j = 0; j < std::ssize(line.attention); ++j) {
    if (line.rank[j] >= size) largest = std::max(largest, line.attention[j]);
  }
  return largest;
}

}  // namespace

SelectionRequest null_plan(const SelectionRequest& plan, bool unit_sphere) {
  SelectionRequest null;
  null.sizes = plan.sizes;
  null.shares = plan.shares;
  null.longest = plan.longest;
  null.distance = false;
  null.unit_sphere = unit_sphere;
  null.seed = plan.seed;
  return null;
}

void SeparabilityNulls::begin(const RowBlock& rows, const NullSpaces& spaces) {
  rows_ = &rows;
  spaces_ = &spaces;
  deal();
  place_on_sphere();
  any_.block.begin(any_rows_.block(), spaces.text, spaces.plan);
  local_.block.begin(local_rows_.block(), spaces.text, spaces.plan);
  sphere_.block.begin({rows.head, rows.normalizer, sphere_rows_},
                      spaces.all ? spaces.sphere : spaces.text, spaces.sphere_plan);
}

bool SeparabilityNulls::has(Index r, Index every) const {
  const SelectionRequest& plan = spaces_->plan;
  const Row& row = rows_->rows[r];
  if ((row.query + rows_->head->head) % every != 0 || plan.count() == 0) return false;
  return row.n() > (plan.shares.empty() ? plan.sizes.front() : 1);
}

bool SeparabilityNulls::has_others(Index r, Index every) const {
  return spaces_->all && has(r, every);
}

// Every row of every head has its own draws, so that their noise is independent between rows and
// heads, as the standard errors assume.
RandomStream SeparabilityNulls::random(Index r, RandomDomain domain) const {
  const HeadInput& head = *rows_->head;
  const Index query = rows_->rows[r].query;
  return {spaces_->plan.seed, domain, head_word(head.layer, head.head),
          row_word(query, head.document)};
}

// Puts the rows that also have the sphere first.
void SeparabilityNulls::deal() {
  const Index depth = spaces_->plan.depth();
  any_rows_.begin(*rows_, depth);
  local_rows_.begin(*rows_, depth);
  for (const bool on_sphere : {true, false}) {
    for (Index r = 0; r < rows_->size(); ++r) {
      if (!has(r, kNullRows) || has_others(r, kSphereRows) != on_sphere) continue;
      any_rows_.add(r, Pairing::any, random(r, RandomDomain::separability_pairing));
    }
  }
  for (Index r = 0; r < rows_->size(); ++r) {
    if (!has_others(r, kLocalRows)) continue;
    local_rows_.add(r, Pairing::local, random(r, RandomDomain::separability_pairing_local));
  }
}

// The keys of a row take neighbouring points, starting at a random one: all heads share the points,
// and rows with few keys would otherwise all have the same points.
void SeparabilityNulls::place_on_sphere() {
  constexpr Index kBlockWords = 4;
  sphere_rows_.clear();
  const std::span<const Row> rows = any_rows_.block().rows;
  for (Index i = 0; i < std::ssize(rows) && has_others(any_rows_.source(i), kSphereRows); ++i) {
    Row row = rows[i];
    const Index n = row.n();
    // Uses the word after those of the permutation.
    const auto words = random(any_rows_.source(i), RandomDomain::separability_pairing)
                           .block(static_cast<std::uint32_t>(n / kBlockWords));
    const auto choices = static_cast<std::uint64_t>(spaces_->sphere.gram->columns() - n + 1);
    const auto first = static_cast<Index>((choices * words[n % kBlockWords]) >> 32);
    row.keys = {first, first + n};
    row.positions = {};
    sphere_rows_.push_back(row);
  }
}

void SeparabilityNulls::gather(std::vector<PrefixSums>& prefixes) {
  any_.sums.gather(any_.block, prefixes);
  local_.sums.gather(local_.block, prefixes);
  sphere_.sums.sum(sphere_.block);
}

void SeparabilityNulls::measure(MatrixView<const int> found, const Metrics& metrics,
                                RowSink& sink) {
  separate(any_, any_rows_, found, metrics.any, sink);
  separate(local_, local_rows_, found, metrics.local, sink);
  separate(sphere_, any_rows_, found, metrics.sphere, sink);
}

bool SeparabilityNulls::bounded(const NullMetrics& metrics) const {
  return metrics.lower && !spaces_->moments.empty();
}

void SeparabilityNulls::separate(Null& null, const PairedRows& paired, MatrixView<const int> found,
                                 const NullMetrics& metrics, RowSink& sink) {
  const SelectionRequest& plan = null.block.plan();
  const bool with_bound = bounded(metrics);
  for (Index i = 0; i < null.block.rows(); ++i) {
    const Index r = paired.source(i);
    const KeyMoments moments = with_bound ? spaces_->moments[rows_->rows[r].query] : KeyMoments{};
    separator_.begin(null.sums, i, rows_->rows[r], *rows_->normalizer, paired.pairing(i));
    for (int s = 0; s < null.block.line(i).sizes; ++s) {
      if (!plan.stands_for(s, null.block.line(i).n)) continue;
      const int count = separator_.separate(s).distinguishable;
      const int members = null.block.sizes_of(i)[s];
      const auto size = static_cast<double>(members);
      sink.set(r, metrics.value, s, count / size);
      sink.set(r, metrics.excess, s, (found(r, s) - count) / size);
      if (std::isnan(moments.cosine)) continue;
      const auto weights = null.block.member_weights(i, PrefixKind::attention).first(members);
      sink.set(
          r, metrics.lower, s,
          dealt_separability_lower(weights, largest_outside(null.block.line(i), members), moments));
    }
  }
}

}  // namespace headgauge
