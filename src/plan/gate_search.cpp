#include "plan/gate_search.hpp"

#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>

#include "base/random.hpp"
#include "normalize/scaled_softmax.hpp"

namespace headgauge {
namespace {

constexpr double kRate = 0.15;  // of Adam (Kingma and Ba 2015), with its usual decays
constexpr double kDecay = 0.9, kSquareDecay = 0.999, kLeastRoot = 1e-8;
constexpr double kTemperature = 0.5;  // of the gates
constexpr double kSharpest = 3;       // the factor of preferences, which rises from 1 to this
constexpr int kHalvings = 60;

std::vector<double> softmax_of(std::vector<double> values) {
  softmax_exact(values, 1, values);
  return values;
}

// Returns the least price at which the share, which falls with the price, is at most `share`.
template <class ShareAt>
double least_price(double share, const ShareAt& share_at) {
  double low = 0, high = 1e-9;
  while (share_at(high) > share && high < 1e12) high *= 8;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (low + high) / 2;
    (share_at(middle) <= share ? high : low) = middle;
  }
  return high;
}

}  // namespace

GateSearch::GateSearch(const PlanSpace& space, JointChange& loss, const PlanOptions& options,
                       Parts& progress)
    : space_(space),
      loss_(loss),
      units_(space.units()),
      seed_(options.seed),
      steps_(options.steps),
      progress_(progress),
      last_(units_.size(), std::vector<double>(static_cast<std::size_t>(space.size()))),
      mean_(last_) {}

// The sharpened preferences of a unit less the price of what its choices keep.
std::vector<double> GateSearch::priced(const Preferences& of, std::size_t unit,
                                       double price) const {
  std::vector<double> values = of[unit];
  for (int c = 0; c < space_.size(); ++c) {
    double& value = values[static_cast<std::size_t>(c)];
    value = sharpness_ * value - price * space_.share_of(units_[unit], c);
  }
  return values;
}

// Returns the price at which choices that are drawn by the preferences keep the share in the mean.
double GateSearch::price_of(const Preferences& preferences, double share) const {
  return least_price(share, [&](double price) {
    double expected = 0;
    for (std::size_t u = 0; u < units_.size(); ++u) {
      const std::vector<double> chances = softmax_of(priced(preferences, u, price));
      for (int c = 0; c < space_.size(); ++c) {
        expected += chances[static_cast<std::size_t>(c)] * space_.share_of(units_[u], c);
      }
    }
    return expected;
  });
}

// A choice at random, by softmax of the priced preferences, is the largest of these plus Gumbel
// noise; the gates are a softmax of the sum, so that they have a gradient (Jang et al. 2017,
// Maddison et al. 2017).
GateSearch::Preferences GateSearch::draw_gates(double price, int document) const {
  Preferences gates;
  const auto draw = static_cast<std::uint32_t>(taken_ * loss_.sampled() + document);
  for (std::size_t u = 0; u < units_.size(); ++u) {
    const RandomStream random(seed_, RandomDomain::gates, draw, static_cast<std::uint32_t>(u));
    std::vector<double> values = priced(last_, u, price);
    for (std::size_t c = 0; c < values.size(); ++c) {
      const double uniform = random.uniforms(static_cast<std::uint32_t>(c))[0];
      values[c] = (values[c] - std::log(-std::log(std::max(uniform, 0x1p-53)))) / kTemperature;
    }
    gates.push_back(softmax_of(std::move(values)));
  }
  return gates;
}

// The gradient of the cost on a sample by the preferences. Each document draws gates of its own, so
// that a step averages over as many draws as it has documents.
GateSearch::Preferences GateSearch::gradient(double price) {
  const std::vector<HeadPlan>& choices = space_.choices();
  std::vector<double> own(choices.size());
  own.front() = 1;
  std::vector<Preferences> drawn;
  std::vector<PerHead<std::vector<double>>> of_heads;
  for (int d = 0; d < loss_.sampled(); ++d) {
    drawn.push_back(draw_gates(price, d));
    auto& gates = of_heads.emplace_back(space_.layers(), space_.heads(), own);
    for (std::size_t u = 0; u < units_.size(); ++u) {
      for (const int head : units_[u].heads) gates(units_[u].layer, head) = drawn.back()[u];
    }
  }
  const auto by_gates = loss_.gradients_on_sample(choices, of_heads, taken_);
  Preferences sum(units_.size(), std::vector<double>(choices.size()));
  for (std::size_t d = 0; d < drawn.size(); ++d) {
    for (std::size_t u = 0; u < units_.size(); ++u) {
      const std::vector<double>& gates = drawn[d][u];
      std::vector<double> by(choices.size());
      for (const int head : units_[u].heads) {
        const std::vector<double>& of_head = by_gates[d](units_[u].layer, head);
        std::ranges::transform(by, of_head, by.begin(), std::plus());
      }
      const double mean = std::inner_product(gates.begin(), gates.end(), by.begin(), 0.0);
      for (std::size_t c = 0; c < by.size(); ++c) {
        sum[u][c] += gates[c] * (by[c] - mean) / kTemperature;
      }
    }
  }
  return sum;
}

void GateSearch::move_to(double share) {
  Preferences first = last_, second = last_;  // Adam's moments
  for (Preferences* zero : {&first, &second, &mean_}) {
    for (std::vector<double>& of_unit : *zero) std::ranges::fill(of_unit, 0.0);
  }
  for (int step = 1; step <= steps_; ++step, ++taken_) {
    sharpness_ = 1 + (kSharpest - 1) * step / steps_;
    const Preferences by = gradient(price_of(last_, share));
    for (std::size_t u = 0; u < units_.size(); ++u) {
      for (std::size_t c = 0; c < by[u].size(); ++c) {
        double& m = first[u][c];
        double& v = second[u][c];
        m = kDecay * m + (1 - kDecay) * by[u][c];
        v = kSquareDecay * v + (1 - kSquareDecay) * by[u][c] * by[u][c];
        const double root = std::sqrt(v / (1 - std::pow(kSquareDecay, step)));
        last_[u][c] -= kRate * m / (1 - std::pow(kDecay, step)) / (root + kLeastRoot);
        if (step > steps_ / 2) mean_[u][c] += last_[u][c] / (steps_ - steps_ / 2);
      }
    }
    progress_.step(fmt::format("{:.4g} %", 100 * share));
  }
}

Choices GateSearch::preferred(double share, std::span<const Ban> bans) const {
  Preferences preferences = mean_;
  for (const Ban& ban : bans) {
    preferences[ban.unit][static_cast<std::size_t>(ban.choice)] =
        -std::numeric_limits<double>::infinity();
  }
  return best_within(units_, preferences, share);
}

Choices GateSearch::preferred_by_layer(double share) const {
  const std::vector<HeadGroup> layers = space_.whole_layers();
  Preferences sums(layers.size(), std::vector<double>(static_cast<std::size_t>(space_.size())));
  for (std::size_t u = 0; u < units_.size(); ++u) {
    const auto layer =
        std::ranges::find(layers, units_[u].layer, &HeadGroup::layer) - layers.begin();
    std::ranges::transform(mean_[u], sums[static_cast<std::size_t>(layer)],
                           sums[static_cast<std::size_t>(layer)].begin(), std::plus());
  }
  return best_within(layers, sums, share);
}

std::vector<GateSearch::Ban> GateSearch::unclear(double share) const {
  const Choices chosen = preferred(share);
  const double price = price_of(mean_, share);
  std::vector<std::pair<double, Ban>> found;
  for (std::size_t u = 0; u < units_.size(); ++u) {
    const int choice = chosen(units_[u].layer, units_[u].heads.front());
    const double chance = softmax_of(priced(mean_, u, price))[static_cast<std::size_t>(choice)];
    if (chance < kClear) found.push_back({chance, {u, choice}});
  }
  std::ranges::stable_sort(found, {}, [](const auto& one) { return one.first; });
  std::vector<Ban> bans;
  for (const auto& [chance, ban] : found) bans.push_back(ban);
  return bans;
}

// Each group takes the choice whose preference less its price is the largest, at the least price at
// which the plan fits. What is left of the share goes where it is preferred most.
Choices GateSearch::best_within(const std::vector<HeadGroup>& groups, const Preferences& of_groups,
                                double share) const {
  const auto at_price = [&](double price) {
    Choices choices = space_.same(0);
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const auto value = [&](int choice) {
        return of_groups[g][static_cast<std::size_t>(choice)] -
               price * space_.share_of(groups[g], choice);
      };
      int best = 0;
      for (int choice = 1; choice < space_.size(); ++choice) {
        if (value(choice) > value(best)) best = choice;
      }
      choices = moved(std::move(choices), groups[g], best);
    }
    return choices;
  };
  const double price = least_price(share, [&](double p) { return space_.share(at_price(p)); });
  Choices choices = at_price(price);
  while (true) {
    double most = 0;
    std::optional<Choices> best;
    const double left = share + 1e-12 - space_.share(choices);
    for (std::size_t g = 0; g < groups.size(); ++g) {
      const int now = choices(groups[g].layer, groups[g].heads.front());
      for (int choice = 0; choice < space_.size(); ++choice) {
        const double more = space_.share_change(choices, groups[g], choice);
        if (!(more > 0) || more > left) continue;
        const double gain = (of_groups[g][static_cast<std::size_t>(choice)] -
                             of_groups[g][static_cast<std::size_t>(now)]) /
                            more;
        if (gain <= most) continue;
        most = gain;
        best = moved(choices, groups[g], choice);
      }
    }
    if (!best) return choices;
    choices = *std::move(best);
  }
}

}  // namespace headgauge
