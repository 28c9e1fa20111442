#include "plan/regression.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>
#include <utility>

#include "base/random.hpp"
#include "plan/rivals.hpp"
#include "statistics/ridge_regression.hpp"

namespace headgauge {
namespace {

constexpr double kUsualShare = 1.0 / 8;  // of the keys, that a changed head keeps
constexpr int kHalvings = 60;
constexpr int kTurn = 4;
constexpr int kSamplesOfUnit = 4;
constexpr int kFewestSamples = 128;
constexpr int kMostSamples = 512;
constexpr int kUnitRounds = 4;   // for a share
constexpr int kRoundPlans = 16;  // plans of a round
constexpr int kLayerRounds = 1;  // for a share, by whole layers
constexpr int kLayerPlans = 8;
constexpr std::size_t kOfferedLayers = 2;  // of these, measured on all documents
constexpr double kStepOfSample = 0.25;     // the work of a sample, when that of all documents is 1
constexpr std::size_t kOffered = 6;        // plans that are measured on the check documents

double median(std::vector<double> values) {
  const auto middle = values.begin() + std::ssize(values) / 2;
  std::ranges::nth_element(values, middle);
  return *middle;
}

}  // namespace

RegressionFinder::RegressionFinder(const PlanSpace& space, JointChange& loss,
                                   const PlanOptions& options, Parts& progress)
    : space_(space),
      loss_(loss),
      seed_(options.seed),
      samples_(options.samples > 0
                   ? options.samples
                   : std::clamp(kSamplesOfUnit * static_cast<int>(std::ssize(space.units())),
                                kFewestSamples, kMostSamples)),
      progress_(progress) {
  for (int layer = 0; layer < space_.layers(); ++layer) {
    std::vector<int>& order = order_.emplace_back(static_cast<std::size_t>(space_.size()));
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, std::greater(),
                             [&](int choice) { return space_.keys(layer, choice); });
    std::vector<int>& rank = rank_.emplace_back(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) {
      rank[static_cast<std::size_t>(order[i])] = static_cast<int>(i);
    }
  }
}

// The cost of a choice is a sum of steps, from full attention to fewer and fewer keys. Each step
// has a coefficient of the model, one of the layer, and one of the head: so heads that were seldom
// tried take after their layer.
std::size_t RegressionFinder::place(int layer, int head, int step) const {
  const int of_group = head < 0 ? 1 + layer : 1 + space_.layers() + layer * space_.heads() + head;
  return static_cast<std::size_t>((layer < 0 ? 0 : of_group) * (space_.size() - 1) + step - 1);
}

std::vector<double> RegressionFinder::features(const Choices& choices) const {
  const int groups = 1 + space_.layers() * (1 + space_.heads());
  std::vector<double> features(static_cast<std::size_t>(groups * (space_.size() - 1)));
  choices.each([&](int layer, int head, int choice) {
    const int last = rank_[static_cast<std::size_t>(layer)][static_cast<std::size_t>(choice)];
    for (int step = 1; step <= last; ++step) {
      ++features[place(-1, -1, step)];
      ++features[place(layer, -1, step)];
      ++features[place(layer, head, step)];
    }
  });
  return features;
}

RegressionFinder::Costs RegressionFinder::costs_of(const std::vector<double>& coefficients) const {
  Costs costs(space_.layers(), space_.heads());
  costs.each([&](int layer, int head, std::vector<double>& of_head) {
    of_head.resize(static_cast<std::size_t>(space_.size()));
    double sum = 0;
    for (int step = 1; step < space_.size(); ++step) {
      sum += coefficients[place(-1, -1, step)] + coefficients[place(layer, -1, step)] +
             coefficients[place(layer, head, step)];
      const int choice = order_[static_cast<std::size_t>(layer)][static_cast<std::size_t>(step)];
      of_head[static_cast<std::size_t>(choice)] = sum;
    }
  });
  return costs;
}

// Returns the plan of the lowest cost within the share: by a price of keys, which is raised until
// the plan fits; the keys that are left then go where they lower the cost most per key.
Choices RegressionFinder::cheapest(const Costs& costs, const std::vector<HeadGroup>& groups,
                                   double share) const {
  std::vector<std::vector<double>> of_group;
  for (const HeadGroup& group : groups) {
    std::vector<double>& sums = of_group.emplace_back(static_cast<std::size_t>(space_.size()));
    for (const int head : group.heads) {
      for (std::size_t c = 0; c < sums.size(); ++c) sums[c] += costs(group.layer, head)[c];
    }
  }
  const auto at_price = [&](double price) {
    Choices choices = space_.same(0);
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const auto sum = [&](int choice) {
        const Index keys = space_.keys(groups[g].layer, choice) * std::ssize(groups[g].heads);
        return of_group[g][static_cast<std::size_t>(choice)] + price * static_cast<double>(keys);
      };
      int best = 0;
      for (int choice = 1; choice < space_.size(); ++choice) {
        if (sum(choice) < sum(best)) best = choice;
      }
      choices = moved(std::move(choices), groups[g], best);
    }
    return choices;
  };
  double low = 0, high = 1e-9;
  while (space_.share(at_price(high)) > share && high < 1e12) high *= 8;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (space_.share(at_price(middle)) <= share ? high : low) = middle;
  }
  Choices choices = at_price(high);
  while (true) {
    double most = 0;
    const HeadGroup* best = nullptr;
    int taken = 0;
    const double left = share + 1e-12 - space_.share(choices);
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const auto now = static_cast<std::size_t>(choices(groups[g].layer, groups[g].heads.front()));
      for (int choice = 0; choice < space_.size(); ++choice) {
        const double more = space_.share_change(choices, groups[g], choice);
        if (!(more > 0) || more > left) continue;
        const double gain =
            (of_group[g][now] - of_group[g][static_cast<std::size_t>(choice)]) / more;
        if (!(gain > most)) continue;
        most = gain;
        best = &groups[g];
        taken = choice;
      }
    }
    if (best == nullptr) return choices;
    choices = moved(std::move(choices), *best, taken);
  }
}

void RegressionFinder::measure(const Choices& choices) {
  SearchPoint point{choices, space_.share(choices), loss_.cost(loss_.change(space_.plan(choices)))};
  progress_.step(point.share);
  const auto is_same = [&](const SearchPoint& other) {
    return std::ranges::equal(other.choices, choices);
  };
  if (std::ranges::none_of(measured_, is_same)) measured_.push_back(std::move(point));
}

double RegressionFinder::measure_on_sample(const Choices& choices, int sample) {
  const double change = loss_.cost(loss_.change_on_sample(space_.plan(choices), sample));
  const double share = space_.share(choices);
  sampled_.push_back({choices, share, change});
  progress_.step(share, kStepOfSample);
  return change;
}

// Half of the heads (or layers) of a random plan are changed, and all of these to one choice:
// whether a head must see all keys is what matters most, and this tells it with the fewest plans.
// Random plans differ from each other far more than the means over few documents do from those over
// many. So the same work tells most if each plan is measured on the fewest documents.
void RegressionFinder::explore(int plans) {
  const std::vector<int> tried = tried_choices();
  std::vector<HeadGroup> units = space_.units();
  for (int p = 0; p < plans; ++p) {
    shuffle(units, RandomStream(seed_, RandomDomain::random_plans, draws_++, 0));
    // Three of four plans have the first choice; the others take turns.
    const auto turn =
        static_cast<std::size_t>(p) / kTurn % std::max<std::size_t>(tried.size() - 1, 1);
    const bool is_first = p % kTurn != kTurn - 1 || tried.size() == 1;
    const int changed = is_first ? tried.front() : tried[1 + turn];
    Choices choices = space_.same(0);
    for (std::size_t i = 0; i < units.size() / 2; ++i) {
      choices = moved(std::move(choices), units[i], changed);
    }
    measure_on_sample(choices, p);
  }
}

// Returns what random plans change heads to: first the pattern that keeps most nearly an eighth of
// the keys, then all other choices. A choice that is never tried would seem to cost nothing.
std::vector<int> RegressionFinder::tried_choices() const {
  std::vector<int> tried(static_cast<std::size_t>(space_.size() - 1));
  std::iota(tried.begin(), tried.end(), 1);
  const auto distance = [&](int choice) {
    const double kept = space_.share(space_.same(choice));
    const bool is_pattern = !space_.choice(choice).pattern.empty();
    return std::pair(!is_pattern, std::abs(std::log(kept / kUsualShare)));
  };
  const auto first = std::ranges::min_element(tried, {}, distance);
  std::rotate(tried.begin(), first, first + 1);
  return tried;
}

std::vector<Choices> RegressionFinder::round(double share, const std::vector<HeadGroup>& groups,
                                             int plans) {
  std::vector<std::vector<double>> rows;
  std::vector<double> changes, sizes, weights;
  for (const auto* points : {&sampled_, &measured_}) {
    for (const SearchPoint& point : *points) {
      rows.push_back(features(point.choices));
      changes.push_back(point.change);
      sizes.push_back(std::abs(point.change));
    }
  }
  // Costs add up worse the larger they are, so a row counts less the larger its change.
  const double usual = std::max(median(sizes), 1e-6);
  for (const double size : sizes) {
    weights.push_back(1 / ((usual + size) * (usual + size)));
  }
  const RidgeRegression fit(rows, changes, weights);
  std::vector<Choices> best = {cheapest(costs_of(fit.coefficients()), groups, share)};
  std::vector<double> normals(static_cast<std::size_t>(fit.draw_size()));
  for (int p = 1; p < plans; ++p) {
    RandomStream(seed_, RandomDomain::random_plans, draws_++, 1).normals(normals);
    best.push_back(cheapest(costs_of(fit.draw(normals)), groups, share));
  }
  return best;
}

std::vector<Choices> RegressionFinder::refine(double share, const std::vector<HeadGroup>& groups,
                                              int rounds, int plans) {
  for (int r = 0; r < rounds; ++r) {
    for (const Choices& choices : round(share, groups, plans)) {
      measure_on_sample(choices, samples_taken_++);
    }
  }
  return round(share, groups, plans);
}

std::vector<Choices> RegressionFinder::race(std::vector<Choices> candidates, std::size_t kept) {
  std::vector<std::pair<double, Choices>> racing;
  for (Choices& choices : candidates) {
    const auto is_same = [&](const auto& other) {
      return std::ranges::equal(other.second, choices);
    };
    if (std::ranges::none_of(racing, is_same)) racing.emplace_back(0.0, std::move(choices));
  }
  while (racing.size() > kept) {
    const int sample = samples_taken_++;
    for (auto& [sum, choices] : racing) sum += measure_on_sample(choices, sample);
    std::ranges::stable_sort(racing, {}, &std::pair<double, Choices>::first);
    racing.resize(std::max(kept, racing.size() / 2));
  }
  candidates.clear();
  for (auto& [sum, choices] : racing) candidates.push_back(std::move(choices));
  return candidates;
}

std::vector<SearchPoint> RegressionFinder::measured_within(double share, std::size_t most) const {
  std::vector<SearchPoint> fitting;
  for (const SearchPoint& point : measured_) {
    if (point.share <= share + 1e-12) fitting.push_back(point);
  }
  std::ranges::stable_sort(fitting, {}, &SearchPoint::change);
  fitting.resize(std::min(fitting.size(), most));
  return fitting;
}

double RegressionFinder::steps_of_share() const {
  const double of_units = kStepOfSample * (kUnitRounds + 2) * kRoundPlans + kOffered;
  if (space_.by_layer()) return of_units;
  return of_units + kStepOfSample * (kLayerRounds + 1) * kLayerPlans + kOfferedLayers;
}

void RegressionFinder::prepare(double /*least*/, double /*most*/) {
  progress_.begin("random plans", 0, 0.35, kStepOfSample * samples_);
  explore(samples_);
  samples_taken_ = samples_;
}

void RegressionFinder::keep_layers() {
  layers_.clear();
  for (const SearchPoint& point : measured_) {
    const auto is_of_layer = [&](int layer) {
      for (int head = 1; head < space_.heads(); ++head) {
        if (point.choices(layer, head) != point.choices(layer, 0)) return false;
      }
      return true;
    };
    if (std::ranges::all_of(space_.source().attention_layers(), is_of_layer)) {
      layers_.push_back(point);
    }
  }
}

std::vector<FoundPlan> RegressionFinder::within(double share) {
  std::vector<Choices> candidates;
  if (const auto equal = equal_choices(space_, share)) candidates.push_back(*equal);
  if (!space_.by_layer()) {
    for (const Choices& choices :
         race(refine(share, space_.whole_layers(), kLayerRounds, kLayerPlans), kOfferedLayers)) {
      measure(choices);
    }
  }
  std::ranges::move(refine(share, space_.units(), kUnitRounds, kRoundPlans),
                    std::back_inserter(candidates));
  for (const Choices& choices : race(std::move(candidates), kOffered)) measure(choices);
  keep_layers();
  std::vector<FoundPlan> found;
  for (const SearchPoint& point : measured_within(share, kOffered)) {
    found.push_back({space_.plan(point.choices), "regression"});
  }
  return found;
}

}  // namespace headgauge
