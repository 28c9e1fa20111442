#include "results/diff_notices.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <set>

#include "headgauge/catalogue.hpp"
#include "headgauge/cells.hpp"
#include "headgauge/text.hpp"

namespace headgauge {
namespace {

using Json = nlohmann::ordered_json;

constexpr Index kFewestBatches = 4;  // documents; see BatchMeans

// Describes a run: "scan with lengths 32, 64, layers 0-5, heads 0-5, metrics entropy, mass and 40
// more".
std::string holding(const Results& results) {
  std::string text(results.command == Command::unknown ? "a run" : command_text(results.command));
  std::string separator = " with ";
  for (const char* coord : {"length", "layer", "head"}) {
    if (results.coord(coord) == nullptr) continue;
    text += fmt::format("{}{}s {}", separator, coord, labels_text(results.coord(coord)->labels()));
    separator = ", ";
  }
  if (results.metrics.empty()) return text + separator + "no metrics";
  return text + separator + "metrics " + names_text(results.metric_names());
}

// Returns whether standard errors come from the variation between documents.
bool errors_between_documents(const Results& results) {
  return std::ssize(results.text.sha256) >= kFewestBatches;
}

}  // namespace

std::string names_text(const std::vector<std::string>& names) {
  constexpr std::size_t kShown = 8;
  std::set<std::string> twins;
  for (const std::string& name : names) twins.insert(twin_by_position(name));
  std::vector<std::string> kept;
  std::ranges::remove_copy_if(names, std::back_inserter(kept),
                              [&](const std::string& name) { return twins.contains(name); });
  if (kept.size() <= kShown + 1) return legible(fmt::format("{}", fmt::join(kept, ", ")));
  const std::size_t more = kept.size() - kShown;
  kept.resize(kShown);
  return legible(fmt::format("{} and {} more", fmt::join(kept, ", "), more));
}

std::string counts_text(const std::map<std::string, std::int64_t>& counts) {
  std::vector<std::string> parts;
  for (const auto& [name, count] : counts) parts.push_back(fmt::format("{} ({})", name, count));
  return names_text(parts);
}

bool lacks_freedom(const Results& results) {
  const auto defined = [](double value) { return !std::isnan(value); };
  return std::ranges::any_of(results.metrics,
                             [&](const auto& entry) {
                               return std::ranges::any_of(entry.second.standard_error, defined);
                             }) &&
         std::ranges::none_of(results.metrics, [&](const auto& entry) {
           return std::ranges::any_of(entry.second.degrees_of_freedom, defined);
         });
}

bool is_same_kind(const ModelRecord& a, const ModelRecord& b) {
  return a.family == b.family && a.layers == b.layers && a.heads == b.heads &&
         a.kv_heads == b.kv_heads && a.head_dim == b.head_dim && a.width == b.width &&
         a.vocabulary == b.vocabulary;
}

void inherit_notices(std::vector<std::string>& all, std::span<const NamedRun> runs) {
  for (const NamedRun& run : runs) {
    for (const std::string& notice : run.results->notices) {
      const bool everywhere = std::ranges::all_of(runs, [&](const NamedRun& other) {
        const auto& own = other.results->notices;
        return std::ranges::find(own, notice) != own.end();
      });
      const std::string text = everywhere ? notice : legible(run.name) + ": " + notice;
      if (std::ranges::find(all, text) == all.end()) all.push_back(text);
    }
  }
}

void LeftOut::compare_labels(const std::string& name, const std::vector<SharedPlace>& shared) {
  // Positions are mentioned only if metrics by position were asked for.
  if (name == "position" && options_.metrics.empty()) return;
  const auto note = [&](const Results& results, Index SharedPlace::*of, std::string& text) {
    const Dimension& dim = results.require_coord(name);
    std::set<Index> taken;
    for (const SharedPlace& place : shared) taken.insert(place.*of);
    std::vector<Index> rest;
    for (Index i = 0; i < dim.size(); ++i) {
      if (!taken.contains(i)) rest.push_back(i);
    }
    if (rest.empty()) return;
    text += fmt::format("{}{} {}", text.empty() ? "" : "; ", name,
                        labels_text(dim.take(rest).labels()));
  };
  note(before_, &SharedPlace::first, old_labels_);
  note(after_, &SharedPlace::second, new_labels_);
}

void LeftOut::fail_without_overlap() const {
  throw BadInputError(fault(
      fmt::format("{} and {}", options_.old_file, options_.new_file), "metrics that both have",
      fmt::format("{} in the old file; {} in the new", holding(before_), holding(after_)),
      "compare two files of the same command whose lengths overlap"));
}

std::vector<std::string> LeftOut::sentences(const Results& diff) const {
  std::vector<std::string> all;
  if (before_.partial) all.push_back("the old run was interrupted: its results are incomplete");
  if (after_.partial) all.push_back("the new run was interrupted: its results are incomplete");
  if (!is_same_kind(before_.model, after_.model)) {
    all.emplace_back(
        "the new results are of another kind of model than the old: losses of tokens compare only "
        "if both split a text into the same tokens");
  }
  say_what_is_missing(all);
  say_what_errors_hold(diff, all);
  inherit_notices(all, std::vector<NamedRun>{{&before_, "old file"}, {&after_, "new file"}});
  return all;
}

void LeftOut::say_what_is_missing(std::vector<std::string>& all) const {
  const auto list = [&](const std::vector<std::string>& names, const std::string& text) {
    if (!names.empty()) all.push_back(fmt::format("{}: {}", text, names_text(names)));
  };
  const auto count = [&](const auto& counts, const std::string& text) {
    if (!counts.empty()) all.push_back(fmt::format("{}: {}", text, counts_text(counts)));
  };
  const auto only = [&](const std::string& labels, const char* file) {
    if (labels.empty()) return;
    all.push_back(fmt::format("only in the {} file, and left out: {}", file, labels));
  };
  only(old_labels_, "old");
  only(new_labels_, "new");
  list(old_only, "metrics that only the old file has are left out");
  list(new_only, "metrics that only the new file has are left out");
  list(different, "left out: their dims or units differ");
  list(without_change, "left out: the model ran without the pattern or normalizer of its heads");
  list(disjoint, "left out: the two runs have no labels in common");
  const auto longest = [](const Results& results) { return longest_length(results).value_or(0); };
  list(of_longest, fmt::format("left out: they are measured at the longest length only, {} in the "
                               "old file and {} in the new",
                               longest(before_), longest(after_)));
  if (flags) {
    all.push_back(
        fmt::format("flags are not compared: they are judged at the longest length, {} in the old "
                    "file and {} in the new",
                    longest(before_), longest(after_)));
  }
  list(times, "left out: measured times always differ (DiffOptions::metrics names them)");
  list(following, "left out: they follow from the metrics that they are named after");
  count(undefined_old, "undefined only in the old file, so without a change");
  count(undefined_new, "undefined only in the new file, so without a change");
  count(found, "an N was found only in the new file");
  count(lost, "an N was found only in the old file");
}

void LeftOut::say_what_errors_hold(const Results& diff, std::vector<std::string>& all) const {
  const bool errors = std::ranges::any_of(diff.metrics, [](const auto& entry) {
    return !entry.second.change_of.empty() && !entry.second.standard_error.empty();
  });
  if (!errors) return;
  const SameTexts texts = compare_texts(before_, after_);
  if (texts == SameTexts::yes) {
    all.push_back("both runs use the same text: " + std::string(kIndependentRuns));
  }
  if (texts == SameTexts::no &&
      !(errors_between_documents(before_) && errors_between_documents(after_))) {
    all.push_back(
        fmt::format("the runs use different texts, and the standard errors come from blocks within "
                    "a text, so they omit the variation between texts: listed changes may be due "
                    "to the texts. With {} documents or more in each run the errors include it",
                    kFewestBatches));
  }
  for (const auto& [run, file] : {std::pair{&before_, "old"}, std::pair{&after_, "new"}}) {
    if (!lacks_freedom(*run)) continue;
    all.push_back(
        fmt::format("the {} file, of an earlier version, does not say how many batches its errors "
                    "come from: they count as exact, so that more is listed than the level allows",
                    file));
  }
}

SameTexts compare_texts(const Results& before, const Results& after) {
  const auto &a = before.text.sha256, &b = after.text.sha256;
  if (a.empty() || b.empty()) return SameTexts::unknown;
  return a == b ? SameTexts::yes : SameTexts::no;
}

std::vector<std::string> shared_names(const Results& before, const Results& after) {
  std::vector<std::string> names;
  for (const auto& [name, metric] : after.metrics) {
    if (before.metric(name) != nullptr && !metric.has_dim("position")) names.push_back(name);
  }
  return names;
}

Json different_settings(const Results& results, const Results& other) {
  // Output options, and settings that are described elsewhere.
  static const std::set<std::string> aside = {"text", "tokens", "lengths", "out",     "json",
                                              "top",  "sort",   "quiet",   "threads", "measures"};
  // A setting that only one of two different commands has is not a difference.
  const bool same_command = results.command == other.command;
  Json differing = Json::object();
  for (const auto& [key, value] : results.settings.items()) {
    if (aside.contains(key)) continue;
    const auto it = other.settings.find(key);
    const bool there = it != other.settings.end();
    if (there ? *it != value : same_command) differing[key] = value;
  }
  return differing;
}

Json described_run(const Results& results, const std::string& file, Json settings) {
  Json object;
  object["file"] = file;
  object["command"] = command_text(results.command);
  object["model"] = results.model.name.value_or("");
  object["text"] = results.text.names;
  object["settings"] = std::move(settings);
  return object;
}

void require_one_run(const Results& results, const std::string& file) {
  if (results.coord("run") != nullptr) {
    throw BadInputError(fault(file, "the results of one run", "those of a diff",
                              "give the two files that it was made from"));
  }
  for (const char* name : {"layer", "head", "length"}) {
    const Dimension* coord = results.coord(name);
    if (coord != nullptr && std::holds_alternative<std::vector<std::string>>(coord->labels())) {
      throw BadInputError(fault(file + ": coords: " + name, "numbers", "names",
                                "give a results.json written by headgauge"));
    }
  }
}

}  // namespace headgauge
