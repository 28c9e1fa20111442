// What the test of a claim reads, and what it finds: named numbers. The sentences, facts and
// reasons that are made of them stand in claims/.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "headgauge/cells.hpp"
#include "headgauge/results.hpp"
#include "statistics/inference.hpp"

namespace headgauge {

// The thresholds of a test that no paper gives, by their names in claims/.
using Thresholds = std::map<std::string, double>;

// The texts of a claim. A name in braces stands for a number, a word, a threshold or another text:
// {heads}, {ratio:.2f}. {low:~} has 3 significant digits, or is "-" if undefined.
struct ClaimTexts {
  std::string measured;
  std::map<std::string, std::string> more;        // what `measured` and say() may use
  std::map<std::string, std::string> not_tested;  // reasons
  // NAME, NAME=NUMBER if the number has another name, or NAME_* for all numbers that begin so.
  std::vector<std::string> facts;
};

// The results lack what a claim needs; what() says why.
class NotTested : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Which heads a claim is about: claims that compare lengths, or N with the length, leave out heads
// with a window shorter than the longest length.
enum class Heads { all, without_window };

class Evidence {
 public:
  Evidence(const Results& of, const Thresholds& thresholds, const ClaimTexts& texts)
      : results(of), thresholds_(thresholds), texts_(texts) {}

  const Results& results;
  Verdict verdict = Verdict::cannot_tell;

  double threshold(const std::string& name) const { return thresholds_.at(name); }

  // Throws NotTested with the text of this reason unless `met`.
  void need(bool met, const std::string& reason) const;

  // Names what the test found.
  void set(const std::string& name, double number) { put(name, number); }
  void set(std::initializer_list<std::pair<std::string, double>> numbers);
  void set(const std::string& name, const Interval& interval);  // NAME_low and NAME_high
  void set_word(const std::string& name, std::string_view word) { put(name, std::string(word)); }
  // Names NAME_median, NAME_least, NAME_most and NAME_count of values, at least one.
  void describe(const std::string& name, const std::vector<double>& values);
  // Returns one of `more`, and adds it behind the measured sentence.
  std::string text(const std::string& name) const { return filled(texts_.more.at(name)); }
  void say(const std::string& name) { said_ += text(name); }
  std::string filled(std::string_view text) const;

  // Writes verdict, sentence and facts into a claim.
  void write(Claim& claim) const;

  // Returns the labels of a coordinate; empty if there is none.
  std::span<const double> numbers(std::string_view coord) const;
  // Returns the measured heads.
  const std::vector<HeadName>& heads(Heads which = Heads::all) const;
  // Claims about heads without a window are not tested if every head has one.
  void need_heads_without_window() const;

  // Returns the estimate or value of each head, undefined where it has none, and the ratio of two
  // metrics, undefined unless above 0. The length is the longest unless another is picked.
  std::vector<Estimate> estimates(std::string_view metric, std::initializer_list<Pick> picks,
                                  Heads which = Heads::all) const;
  std::vector<double> of_heads(std::string_view metric, std::initializer_list<Pick> picks,
                               Heads which = Heads::all) const;
  std::vector<double> ratios(std::string_view over, std::string_view under,
                             std::initializer_list<Pick> picks, Heads which = Heads::all) const;

  // Returns a metric of one of paper B's experiments. Without it, the claim is not tested.
  const LabelledArray& of_experiment(const std::string& experiment, std::string_view metric);

 private:
  using Value = std::variant<double, std::string>;
  void put(const std::string& name, Value value);
  const Value* find(std::string_view name) const;
  std::string written(std::string_view name, const std::string& format) const;

  const Thresholds& thresholds_;
  const ClaimTexts& texts_;
  std::vector<std::pair<std::string, Value>> values_;
  std::string said_;
  mutable std::optional<std::vector<HeadName>> heads_, without_window_;
};

std::vector<double> values_of(std::span<const Estimate> estimates,
                              double Estimate::*number = &Estimate::value);

// Returns the differences and the ratios of the values of heads.
std::vector<double> less(const std::vector<double>& first, const std::vector<double>& second);
std::vector<double> over(const std::vector<double>& first, const std::vector<double>& second);

// Returns the median of the finite values.
double median_of(const std::vector<double>& values);

}  // namespace headgauge
