#include "plan/joint_change.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>

#include "headgauge/files.hpp"
#include "headgauge/model.hpp"
#include "scan/answers.hpp"

namespace headgauge {
namespace {

constexpr std::size_t kKeyDigits = 32;

std::vector<double> read_losses(const Bytes& part, Index numbers, double least) {
  ByteReader reader(part);
  auto losses = reader.take_list<double>();
  reader.require_end();
  const auto fits = [=](double loss) { return std::isfinite(loss) && loss >= least; };
  if (std::ssize(losses) != numbers || !std::ranges::all_of(losses, fits)) {
    throw DamagedPartError("the losses of each document", "others");
  }
  return losses;
}

ModelSource& require_model(HeadSource& source) {
  if (auto* model = dynamic_cast<ModelSource*>(&source)) return *model;
  throw UnsupportedError(fault("plan", "a model that can run under a plan",
                               source.info().name + ", a dump, which cannot",
                               "give the checkpoint that it was made from"));
}

}  // namespace

std::string Evaluations::key(const std::string& set, const PerHead<HeadPlan>& plan) {
  std::string text = set;
  for (const HeadPlan& head : plan) text += ";" + head.text();
  return set + " " + text_sha256(text).substr(0, kKeyDigits);
}

std::string Evaluations::key(const std::string& set, const PerHead<std::vector<double>>& gates) {
  ByteWriter text;
  for (const std::vector<double>& of_head : gates) text.put_list(of_head);
  const Bytes bytes = text.take();
  const std::string_view view(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return set + " " + text_sha256(view).substr(0, kKeyDigits);
}

const std::vector<double>* Evaluations::find(const std::string& key, Index numbers, double least) {
  const auto known = losses_.find(key);
  if (known != losses_.end()) return &known->second;
  const Journal::Stage stage(journal_, key);
  const auto part = journal_.find(-1, 0);
  return part ? &(losses_[key] = read_losses(*part, numbers, least)) : nullptr;
}

void Evaluations::add(const std::string& key, std::vector<double> losses) {
  if (journal_.keeps()) {
    ByteWriter part;
    part.put_list(losses);
    const Journal::Stage stage(journal_, key);
    journal_.keep(-1, 0, part.take());
  }
  losses_.insert_or_assign(key, std::move(losses));
}

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

JointChange::JointChange(const PlanDocuments& documents, std::string set, Evaluations& known,
                         std::stop_token stop)
    : parts_{{&require_model(documents.texts), true}},
      texts_(std::ssize(documents.texts.info().documents)),
      replayed_(documents.replayed),
      judges_replay_(replayed_ > 0),
      set_(std::move(set)),
      known_(known),
      stop_(std::move(stop)) {
  if (replayed_ > 0) find_replayed();
  judged_.texts.resize(static_cast<std::size_t>(texts_));
  std::iota(judged_.texts.begin(), judged_.texts.end(), Index{0});
  if (documents.cases != nullptr) {
    parts_.push_back({&require_model(*documents.cases), false});
    find_tasks(documents.cases->info());
  }
}

const JointChange::Levels& JointChange::of_original() {
  if (!original_.empty()) return original_;
  Levels levels = level({source().layers, source().kv_heads});
  std::fill(levels.begin() + before_same_tokens(), levels.end(), 0.0);  // a share is no change
  return original_ = std::move(levels);
}

// Special tokens may stand before a piece.
void JointChange::find_replayed() {
  for (int d = 0; d < texts_; ++d) {
    const std::vector<int> ids = parts_.front().model->token_ids(d);
    const auto first =
        std::search(ids.begin(), ids.end() - replayed_, ids.end() - replayed_, ids.end());
    assert(first != ids.end() - replayed_);
    replayed_from_.push_back(first - ids.begin());
  }
}

void JointChange::find_tasks(const SourceInfo& cases) {
  cases_ = std::ssize(cases.answers);
  for (Index c = 0; c < cases_; ++c) {
    const std::string& task = cases.answers[static_cast<std::size_t>(c)].task;
    const auto place = std::ranges::find(tasks_, task) - tasks_.begin();
    if (place == std::ssize(tasks_)) {
      tasks_.push_back(task);
      judged_.cases.emplace_back();
    }
    judged_.cases[static_cast<std::size_t>(place)].push_back(c);
  }
  task_weights_.assign(tasks_.size(), 1.0);
}

const SourceInfo& JointChange::source() const {
  return parts_.front().model->info();
}

void JointChange::judge_only(bool replay, const std::vector<std::string>& tasks) {
  judges_replay_ = judges_replay_ && replay;
  for (std::size_t t = tasks_.size(); t-- > 0;) {
    if (std::ranges::count(tasks, tasks_[t]) > 0) continue;
    tasks_.erase(tasks_.begin() + static_cast<std::ptrdiff_t>(t));
    judged_.cases.erase(judged_.cases.begin() + static_cast<std::ptrdiff_t>(t));
    task_weights_.erase(task_weights_.begin() + static_cast<std::ptrdiff_t>(t));
  }
}

void JointChange::weigh_by(const PerHead<HeadPlan>& plan) {
  if (!judges_replay_ && tasks_.empty()) return;
  const Judged lost = change(plan);
  const auto at_stake = [](const ByDocument& rises) { return std::max(mean(rises), kLeastStake); };
  const double of_text = kWeight * at_stake(lost.text);
  if (judges_replay_) replay_weight_ = of_text / at_stake(lost.replay);
  for (std::size_t t = 0; t < tasks_.size(); ++t) {
    task_weights_[t] = of_text / at_stake(lost.answers[t]);
  }
}

void JointChange::weigh_as(const JointChange& other) {
  replay_weight_ = other.replay_weight_;
  for (std::size_t t = 0; t < tasks_.size(); ++t) {
    const auto place = std::ranges::find(other.tasks_, tasks_[t]) - other.tasks_.begin();
    task_weights_[t] = other.task_weights_[static_cast<std::size_t>(place)];
  }
}

nlohmann::ordered_json JointChange::weights() const {
  nlohmann::ordered_json weights;
  if (judges_replay_) weights["replay"] = replay_weight_;
  for (std::size_t t = 0; t < tasks_.size(); ++t) weights["answers"][tasks_[t]] = task_weights_[t];
  return weights;
}

double JointChange::cost(const Judged& changes) const {
  const auto lost = [](ByDocument rises) {
    for (double& rise : rises) rise = std::max(rise, 0.0);
    return mean(rises);
  };
  double sum = mean(changes.text);
  if (!changes.replay.empty()) sum += replay_weight_ * lost(changes.replay);
  for (std::size_t t = 0; t < changes.answers.size(); ++t) {
    sum += task_weights_[t] * lost(changes.answers[t]);
  }
  return sum;
}

Index JointChange::numbers() const {
  return before_same_tokens() + texts_;
}

JointChange::Documents JointChange::sample(int k) const {
  // Strides near the golden ratio visit all parts of a list early, as pieces of one text succeed
  // each other in it.
  const auto visited = [](const std::vector<Index>& of, int place) {
    const auto count = std::ssize(of);
    auto stride = std::max<Index>(1, std::llround(std::numbers::phi_v<double> * count) - count);
    while (std::gcd(stride, count) != 1) ++stride;
    return of[static_cast<std::size_t>(place * stride % count)];
  };
  Documents documents{.texts = {visited(judged_.texts, k)}, .cases = {}};
  if (const int tasks = static_cast<int>(std::ssize(judged_.cases)); tasks > 0) {
    const auto& of_task = judged_.cases[static_cast<std::size_t>(k % tasks)];
    documents.cases.push_back({visited(of_task, k / tasks)});
  }
  return documents;
}

std::vector<Index> JointChange::of_part(const Part& part, const Documents& documents) {
  if (part.is_text) return documents.texts;
  std::vector<Index> cases;
  for (const std::vector<Index>& of_task : documents.cases) {
    cases.insert(cases.end(), of_task.begin(), of_task.end());
  }
  return cases;
}

void JointChange::run_layer(const Part& part, int layer, Index document) {
  require_going();
  part.model->layer(layer, static_cast<int>(document));
}

void JointChange::run(const PerHead<HeadPlan>& plan, const Documents& documents) {
  const HeadInterventions interventions = make_interventions(plan, source());
  for (const Part& part : parts_) {
    const std::vector<Index> run = of_part(part, documents);
    part.model->intervene(interventions);
    for (int layer = 0; layer < source().layers; ++layer) {
      for (const Index d : run) run_layer(part, layer, d);
    }
  }
}

// Finds the likeliest tokens without a plan, if the losses without one were known from an earlier
// run.
void JointChange::find_likeliest() {
  if (!is_measured() || !likeliest_.empty()) return;
  run({source().layers, source().kv_heads}, {.texts = judged_.texts, .cases = {}});
  Levels levels(static_cast<std::size_t>(numbers()));
  for (const Index d : judged_.texts) {
    put_text(d, parts_.front().model->next_tokens(static_cast<int>(d)), levels);
  }
}

void JointChange::put(const Part& part, Index document, const NextTokens& next, Levels& levels) {
  if (part.is_text) return put_text(document, next, levels);
  const Index before = before_answers();
  levels[before + document] = mean(next.losses);
  levels[before + cases_ + document] = is_right(next) ? 1 : 0;
}

void JointChange::put_text(Index d, const NextTokens& next, Levels& levels) {
  const std::span<const double> numbers = next.losses;
  const auto replayed = static_cast<std::size_t>(replayed_);
  const std::size_t read = numbers.size() - replayed;
  levels[d] = mean(numbers.first(read));
  // The first plan that is measured is none.
  likeliest_.resize(static_cast<std::size_t>(texts_));
  std::vector<int>& likeliest = likeliest_[static_cast<std::size_t>(d)];
  if (likeliest.empty()) likeliest = next.likeliest;
  Index same = 0;
  for (std::size_t t = 0; t < read; ++t) same += next.likeliest[t] == likeliest[t] ? 1 : 0;
  levels[before_same_tokens() + d] = static_cast<double>(same) / static_cast<double>(read);
  if (replayed == 0) return;
  // Number t is of token t + 1 of the context.
  const auto judged = replayed - static_cast<std::size_t>(kReplayCue);
  const auto first = static_cast<std::size_t>(replayed_from_[d] + kReplayCue - 1);
  levels[texts_ + d] = mean(numbers.last(judged));
  levels[2 * texts_ + d] = mean(numbers.subspan(first, judged));
}

Judged JointChange::view(const Levels& levels) const {
  const auto at = [&](Index from, const std::vector<Index>& places) {
    ByDocument found;
    for (const Index place : places) found.push_back(levels[from + place]);
    return found;
  };
  Judged judged{.text = at(0, judged_.texts)};
  if (judges_replay_) {
    judged.replay = at(texts_, judged_.texts);
    judged.first_reading = at(2 * texts_, judged_.texts);
  }
  judged.same_token = at(before_same_tokens(), judged_.texts);
  for (const std::vector<Index>& of_task : judged_.cases) {
    judged.answers.push_back(at(before_answers(), of_task));
    judged.right.push_back(at(before_answers() + cases_, of_task));
  }
  return judged;
}

void JointChange::measured(const std::string& key, Levels levels) {
  if (!std::ranges::all_of(levels, [](double level) { return std::isfinite(level); })) {
    throw BadInputError(fault(source().name, "finite losses", "NaN or infinity",
                              "check the weights: `headgauge scan` names what is not finite"));
  }
  known_.add(key, std::move(levels));
  ++computed_;
}

JointChange::Levels JointChange::level(const PerHead<HeadPlan>& plan) {
  const std::string key = Evaluations::key(set_, plan);
  if (const Levels* found = known_.find(key, numbers())) return *found;
  find_likeliest();
  run(plan, judged_);
  Levels levels(static_cast<std::size_t>(numbers()));
  for (const Part& part : parts_) {
    for (const Index d : of_part(part, judged_)) {
      put(part, d, part.model->next_tokens(static_cast<int>(d)), levels);
    }
  }
  measured(key, levels);
  return levels;
}

Judged JointChange::change(const PerHead<HeadPlan>& plan) {
  const Levels& original = of_original();
  Levels levels = level(plan);
  for (std::size_t i = 0; i < levels.size(); ++i) levels[i] -= original[i];
  return view(levels);
}

std::vector<double> JointChange::weights_in_cost(const Part& part, Index document,
                                                 Index losses) const {
  const auto count = static_cast<std::size_t>(losses);
  if (!part.is_text) {
    const auto has = [&](const auto& cases) { return std::ranges::count(cases, document) > 0; };
    const auto task = std::ranges::find_if(judged_.cases, has) - judged_.cases.begin();
    // A sample has a case of one task, which stands for all.
    const double weight =
        task_weights_[static_cast<std::size_t>(task)] * static_cast<double>(tasks_.size());
    return std::vector(count, weight / static_cast<double>(count));
  }
  const Index read = losses - replayed_, judged = replayed_ - kReplayCue;
  std::vector<double> weights(count, 1 / static_cast<double>(read));
  std::fill(weights.begin() + read, weights.end(), 0.0);
  if (judges_replay_) {
    std::fill(weights.end() - judged, weights.end(), replay_weight_ / static_cast<double>(judged));
  }
  return weights;
}

std::vector<PerHead<std::vector<double>>> JointChange::gradients_on_sample(
    const std::vector<HeadPlan>& choices, const std::vector<PerHead<std::vector<double>>>& gates,
    int k) {
  const int heads = source().heads, shared = heads / source().kv_heads;
  // Another name for another meaning of a gradient, else an old journal would be continued.
  std::string set = fmt::format("{}-rises{} {}", set_, k, weights().dump());
  GatedHeads gated{{}, PerHead<std::vector<double>>(source().layers, heads)};
  for (const HeadPlan& choice : choices) {
    set += ";" + choice.text();
    const PerHead<HeadPlan> all(source().layers, source().kv_heads, choice);
    gated.choices.push_back(make_interventions(all, source())(0, 0));
  }
  const Documents documents = sample(k);
  std::vector<PerHead<std::vector<double>>> gradients;
  for (const Part& part : parts_) {
    for (const Index document : of_part(part, documents)) {
      const std::size_t place = gradients.size();
      gated.gates.each([&](int layer, int head, std::vector<double>& of_head) {
        of_head = gates[place](layer, head / shared);
      });
      gradients.push_back(gradient(part, document, gated, fmt::format("{} {}", set, place)));
    }
  }
  return gradients;
}

// The losses of a document without a plan.
const std::vector<double>& JointChange::own_losses(const Part& part, Index document) {
  std::vector<double>& losses = own_losses_[{part.is_text, document}];
  if (!losses.empty()) return losses;
  const GatedHeads own{{{}}, {source().layers, source().heads, std::vector{1.0}}};
  const auto no_way_back = [](int, const NextTokens& next) {
    return std::vector(next.losses.size(), 0.0);
  };
  const std::vector<int> one = {static_cast<int>(document)};
  return losses = part.model
                      ->gradients(one, own,
                                  {.weigh = no_way_back, .before_layer = [&] { require_going(); }})
                      .front()
                      .next.losses;
}

// The gradient by the gates of the key-value heads; `set` is the name of all else that it is of.
PerHead<std::vector<double>> JointChange::gradient(const Part& part, Index document,
                                                   const GatedHeads& gated,
                                                   const std::string& set) {
  const std::size_t choices = gated.choices.size();
  const int shared = source().heads / source().kv_heads;
  const auto numbers = static_cast<Index>(choices) * source().layers * source().kv_heads;
  const std::string key = Evaluations::key(set, gated.gates);
  const double least = -std::numeric_limits<double>::infinity();
  if (known_.find(key, numbers, least) == nullptr) {
    std::vector<double> sum(static_cast<std::size_t>(numbers));
    const bool only_text = part.is_text && !judges_replay_;
    const std::vector<double> own = only_text ? ByDocument() : own_losses(part, document);
    const auto weigh = [&](int, const NextTokens& next) {
      std::vector<double> weights = weights_in_cost(part, document, std::ssize(next.losses));
      if (only_text) return weights;
      std::size_t t = part.is_text ? weights.size() - static_cast<std::size_t>(replayed_) : 0;
      for (; t < weights.size(); ++t) {
        if (next.losses[t] <= own[t]) weights[t] = 0;
      }
      return weights;
    };
    const std::vector<int> one = {static_cast<int>(document)};
    const Gradients found =
        part.model
            ->gradients(one, gated, {.weigh = weigh, .before_layer = [&] { require_going(); }})
            .front();
    found.gates.each([&](int layer, int head, const std::vector<double>& of_head) {
      const Index place = Index{layer} * source().kv_heads + head / shared;
      for (std::size_t c = 0; c < choices; ++c) {
        sum[static_cast<std::size_t>(place) * choices + c] += of_head[c];
      }
    });
    measured(key, std::move(sum));
  }
  PerHead<std::vector<double>> gradient(source().layers, source().kv_heads);
  auto next = known_.find(key, numbers, least)->begin();
  gradient.each([&](int, int, std::vector<double>& of_head) {
    of_head.assign(next, next + static_cast<std::ptrdiff_t>(choices));
    next += static_cast<std::ptrdiff_t>(choices);
  });
  return gradient;
}

}  // namespace headgauge
