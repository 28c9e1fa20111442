#include "plan/joint_change.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "headgauge/files.hpp"
#include "headgauge/model.hpp"
#include "scan/answers.hpp"

namespace headgauge {
namespace {

constexpr std::size_t kKeyDigits = 32;

constexpr double kLeast = -1e-3;  // a cross entropy is only below 0 by rounding

std::vector<double> read_losses(const Bytes& part, Index numbers) {
  ByteReader reader(part);
  auto losses = reader.take_list<double>();
  reader.require_end();
  const auto fits = [](double loss) { return std::isfinite(loss) && loss >= kLeast; };
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

// Returns the only layer in which two plans differ.
int layer_of_difference(const PerHead<HeadPlan>& a, const PerHead<HeadPlan>& b) {
  int found = -1;
  a.each([&](int layer, int head, const HeadPlan& of_head) {
    if (of_head == b(layer, head)) return;
    assert(found < 0 || found == layer);
    found = layer;
  });
  return found;
}

}  // namespace

std::string Evaluations::key(const std::string& set, const PerHead<HeadPlan>& plan) {
  std::string text = set;
  for (const HeadPlan& head : plan) text += ";" + head.text();
  return set + " " + text_sha256(text).substr(0, kKeyDigits);
}

const std::vector<double>* Evaluations::find(const std::string& key, Index numbers) {
  const auto known = losses_.find(key);
  if (known != losses_.end()) return &known->second;
  const Journal::Stage stage(journal_, key);
  const auto part = journal_.find(-1, 0);
  return part ? &(losses_[key] = read_losses(*part, numbers)) : nullptr;
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
      replayed_(documents.texts.info().has_loss ? documents.replayed : 0),
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
  if (by_loss()) {
    Levels levels = level({source().layers, source().kv_heads});
    std::fill(levels.begin() + before_same_tokens(), levels.end(), 0.0);  // a share is no change
    original_ = std::move(levels);
  } else {
    original_.assign(static_cast<std::size_t>(numbers()), 0.0);
  }
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
  const double of_text = at_stake(lost.text);
  if (judges_replay_) replay_weight_ = of_text / at_stake(lost.replay);
  for (std::size_t t = 0; t < tasks_.size(); ++t) {
    task_weights_[t] = of_text / at_stake(lost.answers[t]);
  }
}

nlohmann::ordered_json JointChange::weights() const {
  nlohmann::ordered_json weights;
  if (judges_replay_) weights["replay"] = replay_weight_;
  for (std::size_t t = 0; t < tasks_.size(); ++t) weights["answers"][tasks_[t]] = task_weights_[t];
  return weights;
}

double JointChange::cost(const Judged& changes) const {
  double sum = mean(changes.text);
  if (!changes.replay.empty()) sum += replay_weight_ * mean(changes.replay);
  for (std::size_t t = 0; t < changes.answers.size(); ++t) {
    sum += task_weights_[t] * mean(changes.answers[t]);
  }
  return sum;
}

Index JointChange::numbers() const {
  return before_same_tokens() + (by_loss() ? texts_ : 0);
}

JointChange::Documents JointChange::sample(int k) const {
  Documents documents{.texts = {k % texts_}, .cases = {}};
  for (const std::vector<Index>& of_task : judged_.cases) {
    documents.cases.push_back({of_task[static_cast<std::size_t>(k) % of_task.size()]});
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
  if (stop_.stop_requested()) throw Stopped();
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

// Sets the reference for outputs if it is missing, because another scan of the source removes it;
// and the likeliest tokens if the losses without a plan were known from an earlier run.
void JointChange::set_reference() {
  const PerHead<HeadPlan> none(source().layers, source().kv_heads);
  ModelSource& model = *parts_.front().model;
  if (by_loss() && is_measured() && likeliest_.empty()) {
    run(none, {.texts = judged_.texts, .cases = {}});
    Levels levels(static_cast<std::size_t>(numbers()));
    for (const Index d : judged_.texts) put_text(d, model.next_tokens(static_cast<int>(d)), levels);
  }
  if (by_loss() || model.has_reference()) return;
  run(none, judged_);
  model.set_reference();
}

void JointChange::put(const Part& part, Index document, const NextTokens& next, Levels& levels) {
  if (part.is_text) return put_text(document, next, levels);
  const Index before = before_answers();
  levels[before + document] = mean(next.losses);
  levels[before + cases_ + document] = is_right(next) ? 1 : 0;
}

void JointChange::put_text(Index d, const NextTokens& next, Levels& levels) {
  const std::span<const double> numbers = by_loss() ? next.losses : next.output_change;
  const auto replayed = static_cast<std::size_t>(replayed_);
  const std::size_t read = numbers.size() - replayed;
  levels[d] = mean(numbers.first(read));
  if (by_loss()) {
    // The first plan that is measured is none.
    likeliest_.resize(static_cast<std::size_t>(texts_));
    std::vector<int>& likeliest = likeliest_[static_cast<std::size_t>(d)];
    if (likeliest.empty()) likeliest = next.likeliest;
    Index same = 0;
    for (std::size_t t = 0; t < read; ++t) same += next.likeliest[t] == likeliest[t] ? 1 : 0;
    levels[before_same_tokens() + d] = static_cast<double>(same) / static_cast<double>(read);
  }
  if (replayed == 0) return;
  // Number t is of token t + 1 of the context.
  const auto judged = replayed - static_cast<std::size_t>(kReplayCue);
  const auto first = static_cast<std::size_t>(replayed_from_[d] + kReplayCue - 1);
  levels[texts_ + d] = mean(numbers.last(judged));
  levels[2 * texts_ + d] = mean(numbers.subspan(first, judged));
}

Judged JointChange::view(const Levels& levels, const Documents& documents) const {
  const auto at = [&](Index from, const std::vector<Index>& places) {
    ByDocument found;
    for (const Index place : places) found.push_back(levels[from + place]);
    return found;
  };
  Judged judged{.text = at(0, documents.texts)};
  if (judges_replay_) {
    judged.replay = at(texts_, documents.texts);
    judged.first_reading = at(2 * texts_, documents.texts);
  }
  if (by_loss()) judged.same_token = at(before_same_tokens(), documents.texts);
  for (const std::vector<Index>& of_task : documents.cases) {
    judged.answers.push_back(at(before_answers(), of_task));
    judged.right.push_back(at(before_answers() + cases_, of_task));
  }
  return judged;
}

Judged JointChange::change_of(Levels levels, const Documents& documents) const {
  for (std::size_t i = 0; i < levels.size(); ++i) levels[i] -= original_[i];
  return view(levels, documents);
}

void JointChange::measured(const std::string& key, Levels levels) {
  if (!std::ranges::all_of(levels, [](double level) { return std::isfinite(level); })) {
    throw BadInputError(fault(source().name, "finite losses", "NaN or infinity",
                              "check the weights: `headgauge scan` names what is not finite"));
  }
  known_.add(key, std::move(levels));
  ++computed_;
}

JointChange::Levels JointChange::level(const std::string& set, const PerHead<HeadPlan>& plan,
                                       const Documents& documents) {
  const std::string key = Evaluations::key(set, plan);
  if (const Levels* found = known_.find(key, numbers())) return *found;
  set_reference();
  run(plan, documents);
  Levels levels(static_cast<std::size_t>(numbers()));
  for (const Part& part : parts_) {
    for (const Index d : of_part(part, documents)) {
      put(part, d, part.model->next_tokens(static_cast<int>(d)), levels);
    }
  }
  measured(key, levels);
  return levels;
}

Judged JointChange::change(const PerHead<HeadPlan>& plan) {
  return change_of(level(plan), judged_);
}

Judged JointChange::change_on_sample(const PerHead<HeadPlan>& plan, int k) {
  const Documents documents = sample(k);
  return change_of(level(fmt::format("{}-sample{}", set_, k), plan, documents), documents);
}

std::vector<Judged> JointChange::changes_near(const PerHead<HeadPlan>& base,
                                              std::span<const PerHead<HeadPlan>> variants) {
  std::vector<std::string> keys;
  std::vector<std::vector<std::size_t>> of_layer(static_cast<std::size_t>(source().layers));
  int last = -1;
  for (std::size_t v = 0; v < variants.size(); ++v) {
    keys.push_back(Evaluations::key(set_, variants[v]));
    if (known_.find(keys.back(), numbers()) != nullptr) continue;
    const int layer = layer_of_difference(base, variants[v]);
    if (layer < 0) {
      level(base);
      continue;
    }
    of_layer[static_cast<std::size_t>(layer)].push_back(v);
    last = std::max(last, layer);
  }
  if (last >= 0) {
    std::vector<Levels> levels(variants.size(), Levels(static_cast<std::size_t>(numbers())));
    set_reference();
    const HeadInterventions of_base = make_interventions(base, source());
    std::vector<std::vector<LayerInterventions>> tried(of_layer.size());
    for (std::size_t layer = 0; layer < of_layer.size(); ++layer) {
      for (const std::size_t v : of_layer[layer]) {
        const HeadInterventions all = make_interventions(variants[v], source());
        LayerInterventions& of_variant = tried[layer].emplace_back();
        for (int head = 0; head < source().heads; ++head) {
          of_variant.push_back(all(static_cast<int>(layer), head));
        }
      }
    }
    for (const Part& part : parts_) {
      part.model->intervene(of_base);
      for (int layer = 0; layer <= last; ++layer) {
        const auto& here = of_layer[static_cast<std::size_t>(layer)];
        for (const Index d : of_part(part, judged_)) {
          run_layer(part, layer, d);
          if (here.empty()) continue;
          const auto found = part.model->try_interventions(layer, static_cast<int>(d),
                                                           tried[static_cast<std::size_t>(layer)]);
          for (std::size_t i = 0; i < here.size(); ++i) put(part, d, found[i], levels[here[i]]);
        }
      }
    }
    for (const auto& here : of_layer) {
      for (const std::size_t v : here) measured(keys[v], levels[v]);
    }
  }
  std::vector<Judged> changes;
  for (const std::string& key : keys)
    changes.push_back(change_of(*known_.find(key, numbers()), judged_));
  return changes;
}

}  // namespace headgauge
