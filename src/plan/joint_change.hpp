// Measures the effect of a plan on the whole model: on its loss and its answers. What was measured
// is kept, and a later run of the same plan goes on from it.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <span>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "headgauge/attention_plan.hpp"
#include "headgauge/journal.hpp"
#include "headgauge/plan.hpp"

namespace headgauge {

// The losses of plans on a set of documents: for each document the means in nats, and for a case of
// a task whether its answer is right. A repeated search asks for the same losses, finds them here,
// and so continues where it stopped.
class Evaluations {
 public:
  // The journal finds and keeps the losses of other runs of this plan.
  explicit Evaluations(Journal& journal = no_journal()) : journal_(journal) {}

  // Returns the key of a plan on a set of documents.
  static std::string key(const std::string& set, const PerHead<HeadPlan>& plan);
  static std::string key(const std::string& set, const PerHead<std::vector<double>>& gates);
  // Returns null if the losses were not measured. Throws DamagedPartError if the journal has
  // another number of them, or one below `least`.
  const std::vector<double>* find(const std::string& key, Index numbers, double least = kLeast);
  void add(const std::string& key, std::vector<double> losses);

 private:
  static constexpr double kLeast = -1e-3;  // a cross entropy is only below 0 by rounding

  Journal& journal_;
  std::map<std::string, std::vector<double>> losses_;
};

class ModelSource;
struct GatedHeads;
struct NextTokens;

// Thrown between two layers if a stop was requested.
struct Stopped {};

// Means over the tokens of each document, or their changes.
using ByDocument = std::vector<double>;
double mean(std::span<const double> values);

// What a plan is judged by: losses in nats, or their changes.
struct Judged {
  ByDocument text;                    // by piece of text
  ByDocument replay = {};             // of the replayed tokens, by piece; empty: none
  ByDocument first_reading = {};      // of the same tokens where they stand first
  std::vector<ByDocument> answers{};  // by task and case
  std::vector<ByDocument> right{};    // 1 for an answer that is right, 0; by task and case
  // The share of the tokens of each piece whose next token is predicted as without a plan: no
  // change.
  ByDocument same_token = {};

  bool operator==(const Judged&) const = default;
};

class JointChange {
 public:
  static constexpr double kLeastStake = 0.1;  // nats
  static constexpr double kWeight = 2;        // of each part, where that of text is 1
  // `set` is the name of the documents in `known`. Throws UnsupportedError if a source is not a
  // model.
  JointChange(const PlanDocuments& documents, std::string set, Evaluations& known,
              std::stop_token stop);

  const SourceInfo& source() const;
  Index documents() const { return texts_; }
  // The tasks of the cases, in the order of the answers of Judged.
  const std::vector<std::string>& tasks() const { return tasks_; }
  // Leaves the replay out from now on, and all tasks but these.
  void judge_only(bool replay, const std::vector<std::string>& tasks);

  // Weighs replay and tasks by what is at stake in each from now on: what it loses under this plan.
  // The weight is kWeight times the share of what text loses; what loses less than kLeastStake
  // counts as that.
  void weigh_by(const PerHead<HeadPlan>& plan);
  // Weighs as the changes of another set do, which has these tasks, too.
  void weigh_as(const JointChange& other);
  // The weights of the losses beside that of text, whose weight is 1; empty if there are none.
  nlohmann::ordered_json weights() const;
  // Returns what a search lowers: the mean rise of the loss of text, plus the weighted rises of the
  // replay and of the answers of each task, of which a fall counts as 0.
  double cost(const Judged& changes) const;

  // Returns what the model itself has.
  Judged original() { return view(of_original()); }
  // Returns the losses under a plan minus the model's own.
  Judged change(const PerHead<HeadPlan>& plan);
  // Returns the gradients of cost() by gates that mix the outputs of each head's choices, by
  // key-value head and choice, on each document of a sample: one piece of text and one case, of the
  // tasks in turn. Each document has gates of its own. Samples visit the documents round and round.
  // A token of a replay or an answer counts only if its loss rises.
  std::vector<PerHead<std::vector<double>>> gradients_on_sample(
      const std::vector<HeadPlan>& choices, const std::vector<PerHead<std::vector<double>>>& gates,
      int k);
  // Returns the number of documents of a sample.
  int sampled() const { return tasks_.empty() ? 1 : 2; }
  // Returns the number of plans and gradients measured, not counting those found in `known`.
  int computed() const { return computed_; }

 private:
  // The numbers of all documents: text, replay, first reading, answers, right answers, same tokens.
  using Levels = std::vector<double>;
  // One of the sources.
  struct Part {
    ModelSource* model = nullptr;
    bool is_text = true;
  };
  struct Documents {
    std::vector<Index> texts;
    std::vector<std::vector<Index>> cases;  // by task
  };

  void find_tasks(const SourceInfo& cases);
  void find_replayed();
  Index numbers() const;
  Index before_answers() const { return texts_ * (replayed_ > 0 ? 3 : 1); }
  Index before_same_tokens() const { return before_answers() + 2 * cases_; }
  const Levels& of_original();
  // Measures the plan unless it was measured before.
  Levels level(const PerHead<HeadPlan>& plan);
  Documents sample(int k) const;
  void put(const Part& part, Index document, const NextTokens& next, Levels& levels);
  void put_text(Index document, const NextTokens& next, Levels& levels);
  // Returns the weight of each loss of a document in cost() of a sample.
  std::vector<double> weights_in_cost(const Part& part, Index document, Index losses) const;
  const std::vector<double>& own_losses(const Part& part, Index document);
  PerHead<std::vector<double>> gradient(const Part& part, Index document, const GatedHeads& gated,
                                        const std::string& set);
  Judged view(const Levels& levels) const;
  void find_likeliest();
  bool is_measured() const { return !original_.empty(); }
  void run(const PerHead<HeadPlan>& plan, const Documents& documents);
  static std::vector<Index> of_part(const Part& part, const Documents& documents);
  void require_going() const {
    if (stop_.stop_requested()) throw Stopped();
  }
  void run_layer(const Part& part, int layer, Index document);
  void measured(const std::string& key, Levels levels);

  std::vector<Part> parts_;  // the texts, then the cases, if there are any
  Index texts_ = 0, cases_ = 0, replayed_ = 0;
  std::vector<std::string> tasks_;
  Documents judged_;
  double replay_weight_ = 1;
  std::vector<double> task_weights_;
  std::vector<Index> replayed_from_;  // by piece: the token of the context that is replayed first
  bool judges_replay_ = false;
  std::string set_;
  Evaluations& known_;
  std::stop_token stop_;
  Levels original_;
  std::map<std::pair<bool, Index>, std::vector<double>> own_losses_;  // of texts, of cases
  std::vector<std::vector<int>> likeliest_;  // without a plan, by piece; empty: not known yet
  int computed_ = 0;
};

}  // namespace headgauge
