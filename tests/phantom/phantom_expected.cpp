// Closed forms of the phantom's statistics. A row of n keys has c preferred keys of logit k and
// n - c others of logit 0: weights w = e^k/Z and u = 1/Z with Z = c e^k + n - c. Where tokens are
// distinct the vectors x are orthonormal, c <= 1, and every sum of math 2 and 3 has two values.
#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "phantom/phantom.hpp"

namespace headgauge {
namespace {

using Json = nlohmann::ordered_json;

// One row: the weights of its preferred and of its other keys, in float64.
struct TwoLevelRow {
  double n = 0;                // visible keys
  std::vector<double> keys;    // positions of the preferred keys
  double t = 0;                // position of the query
  double w = 0;                // weight of each preferred key
  double u = 0;                // weight of each other key
  std::vector<double> copies;  // earlier positions of the query's token
  std::vector<double> sinks;   // of the head, that it sees
  double c() const { return static_cast<double>(keys.size()); }
  double others() const { return n - c(); }
  double power_sum(int k) const { return c() * std::pow(w, k) + others() * std::pow(u, k); }
  double largest() const { return keys.empty() ? u : w; }
  bool prefers(double key) const { return std::ranges::find(keys, key) != keys.end(); }
  bool rests_on(double key) const { return std::ranges::find(sinks, key) != sinks.end(); }
  double weight(double key) const { return prefers(key) ? w : u; }
  // The weight beyond the sinks.
  double rest() const {
    double mass = 0;
    for (double key = 0; key < n; ++key) mass += rests_on(key) ? 0 : weight(key);
    return mass;
  }
};

double plogp(double p) {
  return p > 0 ? p * std::log(p) : 0;
}

TwoLevelRow make_row(PhantomHead kind, std::span<const int> tokens, Index t, double strength) {
  TwoLevelRow row;
  row.n = static_cast<double>(t + 1);
  row.t = static_cast<double>(t);
  for (Index j = 0; j < t; ++j) {
    if (tokens[j] == tokens[t]) row.copies.push_back(static_cast<double>(j));
  }
  switch (kind) {
    case PhantomHead::uniform:
      break;
    case PhantomHead::sink:
      row.keys = {0};
      break;
    case PhantomHead::previous_token:
      if (t > 0) row.keys = {row.t - 1};
      break;
    case PhantomHead::same_token:
      for (Index j = 0; j <= t; ++j) {
        if (tokens[j] == tokens[t]) {
          row.keys.push_back(static_cast<double>(j));
        }
      }
      break;
    case PhantomHead::one_hot:
      row.keys = {row.t};
      break;
    case PhantomHead::induction:
      for (Index j = 0; j <= t; ++j) {
        if (token_before(j) == tokens[t]) row.keys.push_back(static_cast<double>(j));
      }
      break;
    case PhantomHead::distant:
      if (t >= kPhantomDistance) row.keys = {static_cast<double>(t - kPhantomDistance)};
      break;
  }
  const double k = kind == PhantomHead::one_hot ? kOneHotStrength : strength;
  // Divided by e^k, which may be too large.
  const double z = row.c() + row.others() * std::exp(-k);
  row.w = row.keys.empty() ? 0 : 1 / z;
  row.u = row.keys.empty() ? 1 / row.n : std::exp(-k) / z;
  return row;
}

double entropy(const TwoLevelRow& row) {
  return -row.c() * plogp(row.w) - row.others() * plogp(row.u);
}

// The sinks of a head: keys on which rows 32 or more later, 16 or more of the 64 that are asked,
// put above 5 % of their weight in the mean.
std::vector<double> sinks_of(const std::vector<TwoLevelRow>& rows) {
  const std::size_t length = rows.size(), asked = std::min<std::size_t>(64, length);
  std::vector<double> sinks;
  for (double key = 0; key < static_cast<double>(length); ++key) {
    double sum = 0, far = 0;
    for (std::size_t p = 0; p < asked; ++p) {
      const TwoLevelRow& row = rows[(2 * p + 1) * length / (2 * asked)];
      if (row.t - key < 32) continue;
      sum += row.weight(key);
      ++far;
    }
    if (far >= 16 && sum / far > 0.05) sinks.push_back(key);
  }
  return sinks;
}

// The row without its sinks, whose weights sum to 1 again; its positions are no longer those of the
// head.
TwoLevelRow beyond_sinks(const TwoLevelRow& row) {
  TwoLevelRow beyond = row;
  std::erase_if(beyond.keys, [&](double key) { return row.rests_on(key); });
  beyond.n -= static_cast<double>(row.sinks.size());
  beyond.w /= row.rest();
  beyond.u /= row.rest();
  return beyond;
}

double mass_90(const TwoLevelRow& row) {
  constexpr double kSlack = 1e-12;  // 9 of 10 equal keys hold 90 %
  double mass = 0, keys = 0;
  while (mass < 0.9 - kSlack) {
    mass += keys < row.c() ? row.w : row.u;
    ++keys;
  }
  return keys;
}

double attention_distance(const TwoLevelRow& row) {
  double sum = row.u * row.t * (row.t + 1) / 2;
  for (double key : row.keys) sum += (row.w - row.u) * (row.t - key);
  return sum;
}

// Eigenvalues of diag(a) - a a^T with c <= 1: u, n - 2 times, and n w u (uniform: u alone).
double spectral(const TwoLevelRow& row) {
  if (row.n == 1) return 0;
  if (row.keys.empty()) return row.u;
  return std::max(row.n > 2 ? row.u : 0, row.n * row.w * row.u);
}

double jacobian_bound(const TwoLevelRow& row) {
  const double a = row.largest();
  const double spread = std::max(a * (1 - a), row.others() > 0 ? row.u * (1 - row.u) : 0);
  return std::min({0.5, 2 * spread, a, a * std::sqrt(row.n * row.power_sum(2))});
}

// The weight on the keys that `of` names; undefined where these are none or all of the keys.
double share(const TwoLevelRow& row, const std::function<bool(double)>& of) {
  double keys = 0, sum = 0;
  for (double key = 0; key < row.n; ++key) {
    if (!of(key)) continue;
    ++keys;
    sum += row.weight(key);
  }
  return keys == 0 || keys == row.n ? kUndefined : sum;
}
// The same of the weight beyond the sinks.
double share_beyond(const TwoLevelRow& row, const std::function<bool(double)>& of) {
  double keys = 0, sum = 0;
  for (double key = 0; key < row.n; ++key) {
    if (!of(key) || row.rests_on(key)) continue;
    ++keys;
    sum += row.weight(key);
  }
  const double rest = row.n - static_cast<double>(row.sinks.size());
  return keys == 0 || keys == rest ? kUndefined : sum / row.rest();
}
bool is_copy(const TwoLevelRow& row, double key) {
  return std::ranges::find(row.copies, key) != row.copies.end();
}

using RowValue = std::function<double(const TwoLevelRow&)>;
using SetValue = std::function<double(const TwoLevelRow&, double)>;

// Weight of the preferred member of the top-N set and number of its other members.
double special(const TwoLevelRow& row) {
  return row.keys.empty() ? 0 : row.w;
}
double plain(const TwoLevelRow& row, double set) {
  return row.keys.empty() ? set : set - 1;
}
double selected(const TwoLevelRow& row, double set) {
  return special(row) + plain(row, set) * row.u;
}
// |s|^2, |s - u x|^2 = r^2 for x outside the set.
double norm2(const TwoLevelRow& row, double set) {
  return special(row) * special(row) + plain(row, set) * row.u * row.u;
}
double radius2(const TwoLevelRow& row, double set) {
  return norm2(row, set) + row.u * row.u;
}

double distance(const TwoLevelRow& row, double set) {
  return (row.n - set) * std::sqrt(radius2(row, set));
}
double bound_paper(const TwoLevelRow& row, double set) {
  const double mass = selected(row, set);
  return (1 - mass) * std::sqrt(2.0) + mass * (row.n - set) - (1 - mass);
}
double bound(const TwoLevelRow& row, double set) {
  const double simple = (row.n - set) * row.u + (row.n - set) * std::sqrt(norm2(row, set));  // A4
  return std::min(simple, bound_paper(row, set));  // A3 is T1.1 here
}

// p sum over all keys of f(a_i).
double over_keys(const TwoLevelRow& row, double set, const std::function<double(double)>& f) {
  return (row.n - set) / row.n * (row.c() * (row.c() > 0 ? f(row.w) : 0) + row.others() * f(row.u));
}
double expected(const TwoLevelRow& row, double set) {
  const double k = set / (row.n - 1), q = row.power_sum(2);
  return over_keys(row, set, [&](double a) { return std::sqrt(a * a * (1 - k * k) + k * k * q); });
}
double expected_context(const TwoLevelRow& row, double set) {
  const double k = set / (row.n - 1), q = row.power_sum(2);
  return over_keys(row, set, [&](double a) { return std::sqrt(k * k + q - a * a); });
}
double expected_upper(const TwoLevelRow& row, double set) {
  const double k = set / (row.n - 1), q = row.power_sum(2), n = row.n;
  const double factor = n > 2 ? set * (n - 1 - set) / ((n - 1) * (n - 2)) * (1 - 1 / (n - 1)) : 0;
  return over_keys(row, set, [&](double a) {
    const double main = a * a * (1 - k * k) + k * k * q;
    return std::sqrt(main + factor * std::max(0.0, q - a * a));
  });
}

// Mean over the members of the set of f(B_i), B_i the sum of squared weights of the others.
double over_members(const TwoLevelRow& row, double set, const std::function<double(double)>& f) {
  const double all = norm2(row, set);
  double sum = 0;
  if (!row.keys.empty()) sum += f(plain(row, set) * row.u * row.u);
  if (plain(row, set) > 0) {
    const double rest = row.keys.empty() ? (set - 1) * row.u * row.u : all - row.u * row.u;
    sum += plain(row, set) * f(rest);
  }
  return sum / set;
}
double model_lower(const TwoLevelRow& row, double set) {
  const double r = std::sqrt(radius2(row, set));
  return over_members(row, set, [&](double b) {
    if (b == 0) return 1.0;
    const double gap = std::max(0.0, r - std::sqrt(b));
    return std::max({0.0, 1 - b / (r * r), 1 - std::exp(-gap * gap / (2 * b))});
  });
}
double lower_paper(const TwoLevelRow& row, double set) {
  const double r = std::sqrt(radius2(row, set));
  return 1 - over_members(row, set, [&](double b) { return std::sqrt(b) / r; });
}
double upper_paper(const TwoLevelRow& row, double set) {
  const double r = std::sqrt(radius2(row, set));
  return over_members(
      row, set, [&](double b) { return std::exp(-(r - std::sqrt(b)) * (r - std::sqrt(b)) / 16); });
}

class Expectations {
 public:
  Expectations(std::span<const int> tokens, double strength) {
    for (PhantomHead kind : kPhantomHeads) {
      auto& rows = rows_.emplace_back();
      for (Index t = 0; t < std::ssize(tokens); ++t) {
        rows.push_back(make_row(kind, tokens, t, strength));
      }
      const std::vector<double> sinks = sinks_of(rows);
      for (TwoLevelRow& row : rows) {
        for (const double sink : sinks) {
          if (sink < row.n) row.sinks.push_back(sink);
        }
      }
    }
  }

  // What a row without a value is to the mean: nothing, or what makes it undefined.
  enum class Undefined { left_out, spreads };

  // Mean of `value` over the rows t <= L with at least `least` keys that have one.
  void add(
      const std::string& name, const RowValue& value, double least = 1,
      const RowValue& counts_as = [](const TwoLevelRow&) { return 1.0; }) {
    Json layer = Json::array();
    for (const auto& rows : rows_) {
      Json head = Json::array();
      for (int length : kPhantomLengths)
        head.push_back(mean(rows, length, least, Undefined::left_out, value, counts_as));
      layer.push_back(head);
    }
    metrics_[name] = {{"dims", {"layer", "head", "length"}}, {"values", Json::array({layer})}};
  }

  // The same for each N of top_n, over the rows with n > N.
  void add_sets(const char* name, const SetValue& value) {
    Json layer = Json::array();
    for (const auto& rows : rows_) {
      Json head = Json::array();
      for (int length : kPhantomLengths) {
        Json sets = Json::array();
        for (int set : kPhantomTopN) {
          sets.push_back(mean(
              rows, length, set + 1, Undefined::spreads,
              [&](const TwoLevelRow& row) { return value(row, set); },
              [](const TwoLevelRow&) { return 1.0; }));
        }
        head.push_back(sets);
      }
      layer.push_back(head);
    }
    metrics_[name] = {{"dims", {"layer", "head", "length", "top_n"}},
                      {"values", Json::array({layer})}};
  }

  Json& metrics() { return metrics_; }

 private:
  static double mean(const std::vector<TwoLevelRow>& rows, int length, double least,
                     Undefined undefined, const RowValue& value, const RowValue& counts_as) {
    double sum = 0, count = 0;
    for (const TwoLevelRow& row : rows) {
      if (row.n > length || row.n < least) continue;
      const double of_row = value(row);
      if (undefined == Undefined::left_out && std::isnan(of_row)) continue;
      sum += counts_as(row) * of_row;
      count += counts_as(row);
    }
    return sum / count;
  }

  std::vector<std::vector<TwoLevelRow>> rows_;  // head -> rows
  Json metrics_ = Json::object();
};

void add_weights(Expectations& out) {
  out.add("mass", [](const TwoLevelRow&) { return 1.0; });
  out.add("entropy", entropy);
  out.add(
      "entropy_normalized", [](const TwoLevelRow& row) { return entropy(row) / std::log(row.n); },
      2);
  out.add("effective_tokens", [](const TwoLevelRow& row) { return std::exp(entropy(row)); });
  out.add("participation_ratio", [](const TwoLevelRow& row) { return 1 / row.power_sum(2); });
  out.add("max_weight", [](const TwoLevelRow& row) { return row.largest(); });
  out.add("mass_90", mass_90);
  out.add("first_weight", [](const TwoLevelRow& row) { return row.weight(0); });
  out.add("sink_weight", [](const TwoLevelRow& row) { return 1 - row.rest(); });
  out.add("sink_keys",
          [](const TwoLevelRow& row) { return static_cast<double>(row.sinks.size()); });
  const auto beyond = [&](const char* name, const RowValue& value, double least = 1) {
    out.add(
        name + std::string("_beyond_sinks"),
        [value, least](const TwoLevelRow& row) {
          const TwoLevelRow rest = beyond_sinks(row);
          return rest.n >= least ? value(rest) : kUndefined;
        },
        1, [](const TwoLevelRow& row) { return row.rest(); });
  };
  beyond("entropy", entropy);
  beyond(
      "entropy_normalized", [](const TwoLevelRow& row) { return entropy(row) / std::log(row.n); },
      2);
  beyond("effective_tokens", [](const TwoLevelRow& row) { return std::exp(entropy(row)); });
  beyond("participation_ratio", [](const TwoLevelRow& row) { return 1 / row.power_sum(2); });
  beyond("max_weight", [](const TwoLevelRow& row) { return row.largest(); });
  beyond("mass_90", mass_90);
  out.add(
      "attention_distance_beyond_sinks",
      [](const TwoLevelRow& row) {
        double sum = attention_distance(row);
        for (const double sink : row.sinks) sum -= row.weight(sink) * (row.t - sink);
        return row.rest() > 0 ? sum / row.rest() : kUndefined;
      },
      1, [](const TwoLevelRow& row) { return row.rest(); });
  out.add("attention_distance", attention_distance);
  out.add("logit_range", [](const TwoLevelRow& row) {
    if (row.keys.empty() || row.others() == 0) return 0.0;
    return std::log(row.w / row.u);
  });
  out.add("scaled_weight_min",
          [](const TwoLevelRow& row) { return row.n * (row.others() > 0 ? row.u : row.w); });
  out.add("scaled_weight_max", [](const TwoLevelRow& row) { return row.n * row.largest(); });
}

void add_roles(Expectations& out) {
  const auto add = [&](const char* name, bool (*of)(const TwoLevelRow&, double)) {
    out.add(name, [of](const TwoLevelRow& row) {
      return share(row, [&](double key) { return of(row, key); });
    });
    out.add(
        name + std::string("_beyond_sinks"),
        [of](const TwoLevelRow& row) {
          return share_beyond(row, [&](double key) { return of(row, key); });
        },
        1, [](const TwoLevelRow& row) { return row.rest(); });
  };
  add("weight_previous", [](const TwoLevelRow& row, double key) { return key == row.t - 1; });
  add("weight_recent", [](const TwoLevelRow& row, double key) { return row.t - key < 64; });
  add("weight_distant",
      [](const TwoLevelRow& row, double key) { return !row.rests_on(key) && row.t - key >= 64; });
  add("weight_duplicate", is_copy);
  add("weight_induction", [](const TwoLevelRow& row, double key) { return is_copy(row, key - 1); });
}

}  // namespace

Json phantom_expectations(std::span<const int> tokens, double strength) {
  Expectations out(tokens, strength);
  add_weights(out);
  add_roles(out);
  const double loss = std::log(static_cast<double>(kPhantomTokens));
  out.metrics()["loss"] = {{"dims", {"length"}},
                           {"values", std::vector<double>(kPhantomLengths.size(), loss)}};
  if (std::set<int>(tokens.begin(), tokens.end()).size() != tokens.size()) {
    return out.metrics();
  }
  out.add("jacobian_frobenius", [](const TwoLevelRow& row) {
    const double q2 = row.power_sum(2);
    return std::sqrt(std::max(0.0, q2 - 2 * row.power_sum(3) + q2 * q2));
  });
  out.add("jacobian_spectral", spectral);
  out.add("jacobian_bound", jacobian_bound);
  out.add("jacobian_bound_paper", [](const TwoLevelRow& row) {
    return row.largest() * (1 + std::sqrt(row.n * row.power_sum(2)));
  });
  out.add_sets("selected_mass", selected);
  out.add_sets("distance", distance);
  out.add_sets("margin",
               [](const TwoLevelRow& row, double set) { return std::sqrt(radius2(row, set)); });
  out.add_sets("distance_bound", bound);
  out.add_sets("distance_bound_paper", bound_paper);
  out.add_sets("expected_distance", expected);
  out.add_sets("expected_distance_upper", expected_upper);
  out.add_sets("expected_distance_context", expected_context);
  const auto one = [](const TwoLevelRow&, double) { return 1.0; };
  out.add_sets("separability", one);
  // xi^2 and r^2 differ by 2 u^2 beside w^2: where u is below a thousandth of w, vectors in float32
  // do not decide which is smaller, and nothing is expected.
  out.add_sets("separability_lower", [](const TwoLevelRow& row, double set) {
    return row.u < 1e-3 * row.w && set > 1 ? kUndefined : 1.0;
  });
  out.add_sets("separability_model_upper", one);
  out.add_sets("separability_model_lower", model_lower);
  out.add_sets("separability_lower_paper", lower_paper);
  out.add_sets("separability_upper_paper", upper_paper);
  return out.metrics();
}

}  // namespace headgauge
