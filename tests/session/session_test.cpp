// A session opens, resumes, shares and saves as the command line does: the same bits.
#include "headgauge/session.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "headgauge/files.hpp"
#include "small_models.hpp"

namespace headgauge {
namespace {

using testing::source_path;
using testing::TemporaryFolder;

Texts three_texts() {
  Texts texts;
  for (const int length : {70, 96, 81}) {
    texts.push_back(
        ids_of(testing::made_ids(length, 0, 3 * length), "ids" + std::to_string(length)));
  }
  return texts;
}

Model tiny() {
  return Model(source_path("tests/golden/gpt2/plain"));
}

ScanRequest quick() {
  ScanRequest request;
  request.options.lengths = {64, 16};
  request.options.measures = {"weights", "model"};
  request.options.threads = 1;
  return request;
}

// All that results hold but the time that they took and the threads.
std::string text_of_results(Results results) {
  results.timings = {};
  results.settings.erase("threads");
  results.tool.threads.reset();
  results.request.clear();  // only of results that a run saved
  return results_text(results);
}

// Stops the run in a stage, and notes what it hears.
class Stopper final : public RunObserver {
 public:
  void update(std::string_view what, double, double) override {
    if (!stop_at_.empty() && what.find(stop_at_) != what.npos) stop_.request_stop();
  }
  void opened(const HeadSource* source) override { opened_ = source != nullptr; }
  void resumed(const std::string& line, double /*done*/) override { resumed_ = line; }
  void measured() override {
    ++measured_;
    if (stop_at_ == kAtTheEnd) stop_.request_stop();
  }

  static constexpr const char* kAtTheEnd = "the end";

  std::stop_source stop_;
  std::string stop_at_;
  bool opened_ = false;
  int measured_ = 0;
  std::string resumed_;
};

// The folders of two shards, each of which this runs.
std::vector<std::string> in_two_shards(const TemporaryFolder& folder,
                                       const std::function<void(const headgauge::Run&)>& run) {
  std::vector<std::string> parts;
  for (int index = 0; index < 2; ++index) {
    parts.push_back(folder / std::to_string(index));
    run({.out = parts.back(), .shard = Share{index, 2}});
  }
  return parts;
}

TEST(Session, MeasuresInTwoLines) {
  Session session(tiny(), three_texts());
  const Results results = session.scan(quick());
  EXPECT_EQ(results.command, Command::scan);
  EXPECT_FALSE(results.summary.empty());
  // As the engine does, given the same source.
  std::vector<Document> documents;
  for (const Text& text : three_texts()) documents.push_back(make_document(*text.ids, text.name));
  const auto source = testing::open_model(documents, {.threads = 1});
  EXPECT_EQ(scan(*source, quick().options).require_metric("entropy_with_sinks").values,
            results.require_metric("entropy_with_sinks").values);
}

TEST(Session, SavesInItsFolder) {
  const TemporaryFolder folder("session-saves");
  Stopper heard;
  Session session(tiny(), three_texts(), {.out = folder / "made", .observer = &heard});
  const Results results = session.scan(quick());
  EXPECT_EQ(results_text(read_results(folder / "made/results.json")), results_text(results));
  EXPECT_TRUE(std::filesystem::exists(folder / "made/heads.csv"));
  EXPECT_FALSE(std::filesystem::exists(folder / "made/journal"));
  EXPECT_TRUE(heard.opened_);
  EXPECT_EQ(heard.measured_, 1);
  EXPECT_EQ(heard.resumed_, "");
}

TEST(Session, ARunThatWasStoppedContinuesWithTheSameBits) {
  const TemporaryFolder folder("session-stopped");
  ::setenv("HEADGAUGE_JOURNAL_SECONDS", "0", 1);
  const Results whole = Session(tiny(), three_texts()).scan(quick());
  Stopper heard;
  heard.stop_at_ = "layer 1";
  const headgauge::Run run{
      .out = folder.path(), .observer = &heard, .stop = heard.stop_.get_token()};
  const Results partial = Session(tiny(), three_texts(), run).scan(quick());
  EXPECT_TRUE(partial.partial);
  expect_part(interruption(partial, run), "run the same command again");
  // Lists in another order are the same run, other texts are not.
  ScanRequest same = quick();
  std::ranges::reverse(same.options.lengths);
  Texts others = three_texts();
  others.pop_back();
  EXPECT_THROW(Session(tiny(), others, {.out = folder.path()}).scan(quick()), BadInputError);
  Texts changed = three_texts();
  changed[1] = ids_of(std::vector<int>(96, 7), changed[1].name);
  EXPECT_THROW(Session(tiny(), changed, {.out = folder.path()}).scan(quick()), BadInputError)
      << "as many ids, but others";
  ScanRequest another = quick();
  another.options.seed = 5;
  EXPECT_THROW(Session(tiny(), three_texts(), {.out = folder.path()}).scan(another), BadInputError);
  Stopper again;
  const Results resumed =
      Session(tiny(), three_texts(), {.out = folder.path(), .observer = &again}).scan(same);
  expect_part(again.resumed_, "resuming");
  EXPECT_TRUE(text_of_results(resumed) == text_of_results(whole));
  EXPECT_EQ(interruption(resumed, {}), "");
  ::unsetenv("HEADGAUGE_JOURNAL_SECONDS");
}

TEST(Session, AnExportThatWasStoppedNamesWhatThePlanSaved) {
  const TemporaryFolder folder("session-export");
  PlanRequest request;
  request.options.patterns = {"sinks:sinks=2,window=14"};
  request.options.memory = 0.5;
  request.options.curve = {};
  request.options.random_plans = 2;
  request.length = 35;
  request.pieces = 2;
  request.replay = 0;
  request.formats = {"hf"};
  Texts texts = three_texts();
  request.confirm = {texts.back()};
  texts.pop_back();
  Stopper heard;
  heard.stop_at_ = Stopper::kAtTheEnd;
  const headgauge::Run run{
      .out = folder.path(), .observer = &heard, .stop = heard.stop_.get_token()};
  EXPECT_EQ(thrown<InterruptedError>([&] { Session(tiny(), texts, run).plan(request); }),
            "interrupted; saved: " + folder / "results.json" + ", " + folder / "plan.json" +
                "; nothing else was changed");
  EXPECT_FALSE(std::filesystem::exists(folder / "hf"));
  EXPECT_EQ(read_plan(folder / "plan.json").heads.layers(), 2);
  Session(tiny(), texts, {.out = folder.path()}).plan(request);
  EXPECT_TRUE(std::filesystem::exists(folder / "hf"));
}

TEST(Session, ShardsAreMergedToTheBitsOfOneRun) {
  const TemporaryFolder folder("session-shards");
  CompareRequest request;
  request.options.scan = quick().options;
  request.options.normalizers = {"ssmax", "sparsemax"};
  const Results whole = Session(tiny(), three_texts()).compare(request);
  const auto parts = in_two_shards(folder, [&](const headgauge::Run& run) {
    EXPECT_TRUE(Session(tiny(), three_texts(), run).compare(request).metrics.empty());
  });
  // Texts in memory are given again; files are found by merge() alone.
  const Results joined = Session(tiny(), three_texts(), {.shards = parts}).compare(request);
  EXPECT_TRUE(text_of_results(joined) == text_of_results(whole));
  CompareRequest another = request;
  another.options.scan.seed = 5;
  EXPECT_THROW(Session(tiny(), three_texts(), {.shards = parts}).compare(another), BadInputError)
      << "parts of the same names, but of another run";
  request.options.normalizers = {"ssmax"};
  EXPECT_THROW(Session(tiny(), three_texts(), {.shards = parts}).compare(request), BadInputError);
}

TEST(Session, OneRunIsOneRunHoweverItsTextsAndListsAreWritten) {
  const TemporaryFolder folder("session-spelling");
  ValidateRequest request;
  request.options.scan = quick().options;
  request.options.scan.measures = {"weights"};
  request.options.scan.measure.top_n = {5, 1};
  request.options.patterns = {"sinks:sinks=4,window=12", "topk:k=16"};
  request.options.permutations = 99;
  request.options.resamples = 99;
  const auto parts = in_two_shards(
      folder, [&](const auto& run) { Session(tiny(), three_texts(), run).validate(request); });
  request.options.scan.measure.top_n = {1, 5, 5};
  Texts renamed = three_texts();
  for (Text& text : renamed) text.name += " of another name";
  const Results joined = Session(tiny(), renamed, {.shards = parts}).validate(request);
  EXPECT_EQ(joined.coord_size("text"), 3);
}

TEST(Session, MergeFindsFilesByTheirNames) {
  const TemporaryFolder folder("session-merge");
  std::vector<std::string> files;
  for (const Text& text : three_texts()) {
    files.push_back(folder / text.name);
    std::string words;
    for (const int id : *text.ids) words += std::to_string(id) + " ";
    AtomicFile file(files.back());
    file.write(words);
    file.commit();
  }
  const Results whole = Session(tiny(), token_files(files)).scan(quick());
  const auto parts = in_two_shards(
      folder, [&](const auto& run) { Session(tiny(), token_files(files), run).scan(quick()); });
  EXPECT_TRUE(text_of_results(merge(parts)) == text_of_results(whole));
}

TEST(Session, RefusesWhatDoesNotFit) {
  EXPECT_THROW(Session(tiny(), three_texts(), {.shard = Share{0, 2}}).scan(quick()), UsageError);
  EXPECT_THROW(Session(tiny()).scan(quick()), UsageError) << "no text";
  EXPECT_THROW(Session(tiny(), three_texts()).compare({}), UsageError) << "nothing to compare";
  const headgauge::Run shard = {.shard = Share{0, 2}};
  EXPECT_THROW(Session(tiny(), three_texts(), shard).reproduce(LimitsRequest()), UnsupportedError);
  EXPECT_THROW(Session(Model(), {}, shard).judge_limits("none"), UnsupportedError);
  EXPECT_THROW(Session(Model(), {}, shard).reproduce(TokensRequest()), UnsupportedError);
  EXPECT_THROW(parse_share("3/2"), UsageError);
  EXPECT_EQ(parse_share("2/8"), (Share{1, 8}));
  Texts twice = three_texts();
  twice.push_back(twice.front());
  EXPECT_THROW(Session(tiny(), twice).validate(), UsageError) << "a text that is there twice";
}

// A model of the program's own, which other processes cannot open.
class Own final : public CustomModel {
 public:
  ModelSummary summary() const override { return tiny().summary(); }
  std::unique_ptr<HeadSource> open(std::vector<Document> documents, XSource x) override {
    return tiny().open(std::move(documents), SourceOptions{.x = x, .threads = 1});
  }
};

TEST(Session, ACallOfALoadedModelMayBeRepeatedAndNoOtherTakesItsFolder) {
  const TemporaryFolder folder("session-again");
  const Model own(std::make_shared<Own>());
  ScanRequest request = quick();
  for (int call = 0; call < 2; ++call) {
    EXPECT_FALSE(Session(own, three_texts(), {.out = folder.path()}).scan(request).request.empty());
  }
  request.options.seed = 5;
  EXPECT_THROW(Session(own, three_texts(), {.out = folder.path()}).scan(request), UsageError);
  Texts others = three_texts();
  others.pop_back();
  EXPECT_THROW(Session(own, others, {.out = folder.path()}).scan(quick()), UsageError);
  Session(own, three_texts(), {.out = folder.path(), .force = true}).scan(request);
  EXPECT_THROW(Session(own, three_texts(), {.out = folder.path()}).scan(quick()), UsageError);
}

TEST(Session, MeasuresAModelOfTheProgramsOwn) {
  const TemporaryFolder folder("session-own");
  const Results expected = Session(tiny(), three_texts()).scan(quick());
  const Model own(std::make_shared<Own>());
  EXPECT_EQ(Session(own, three_texts()).scan(quick()).require_metric("entropy_with_sinks").values,
            expected.require_metric("entropy_with_sinks").values);
  EXPECT_THROW(
      Session(own, three_texts(), {.out = folder.path(), .shard = Share{0, 2}}).scan(quick()),
      UnsupportedError);
  const auto parts = in_two_shards(
      folder, [](const auto& run) { Session(tiny(), three_texts(), run).scan(quick()); });
  EXPECT_THROW(Session(own, three_texts(), {.shards = parts}).scan(quick()), UnsupportedError)
      << "shards of a checkpoint are none of the program's own model";
  EXPECT_THROW(Session(own, {text_of("a text")}).scan(quick()), UsageError) << "no tokenizer";
}

TEST(OptionNames, AreThoseThatAreTyped) {
  EXPECT_EQ(with_option_names("use ScanOptions::lengths = auto"), "use --lengths auto");
  EXPECT_EQ(with_option_names("neither text_files() nor token_files()"),
            "neither --text nor --tokens");
  EXPECT_EQ(with_option_names("CompareRequest::plans: expected"), "--plan: expected");
}

}  // namespace
}  // namespace headgauge
