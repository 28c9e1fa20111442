#include "scan/forward_pass.hpp"

#include <gtest/gtest.h>

#include <array>
#include <map>
#include <mutex>

#include "headgauge/headgauge.hpp"
#include "kernels/gemm.hpp"
#include "scan/pair_of_heads.hpp"
#include "small_models.hpp"

namespace headgauge {
namespace {

std::unique_ptr<ModelSource> open_demo() {
  std::vector<Document> documents;
  for (const int length : {30, 60}) {
    documents.push_back(make_document(testing::made_ids(length, 0, 3 * length), "ids"));
  }
  return testing::open_model(std::move(documents), {.threads = 1}, "demo/model");
}

// Layers that a forward pass asks its source for.
class Counted final : public HeadSource {
 public:
  const SourceInfo& info() const override { return source_->info(); }
  std::span<const HeadInput> layer(int layer, int document) override {
    ++layers;
    return source_->layer(layer, document);
  }
  NextTokens next_tokens(int document) override { return source_->next_tokens(document); }
  std::span<std::byte> state(int document) override { return source_->state(document); }
  bool begin_at(int layer, int document) override { return source_->begin_at(layer, document); }
  int layers = 0;

 private:
  std::unique_ptr<ModelSource> source_ = open_demo();
};

TEST(ForwardPass, RunsNoFurtherThanIsAskedFor) {
  Counted source;
  ForwardPass pass(source, 0);
  pass.layer(2, 1);
  EXPECT_EQ(source.layers, 3);
  pass.layer(3, 1);
  pass.reach(4, 1);
  EXPECT_EQ(source.layers, 4);
  pass.reach(6, 0);
  EXPECT_EQ(source.layers, 10);
}

TEST(ForwardPass, BeginsAtTheStateThatWasKept) {
  const testing::TemporaryFolder folder("forward-pass");
  Counted whole;
  ForwardPass(whole, 0).reach(6, 1);
  Journal journal;
  journal.open(folder.path(), {{"command", "scan"}}, "--out");
  const Journal::Stage stage(journal, "scan");
  Counted first;
  ForwardPass(first, 0).reach(4, 1);
  journal.keep_state(4, 1, first.state(1));

  Journal again;  // of the same process: nothing was kept in a journal that it could not take
  again.open(folder.path(), {{"command", "scan"}}, "--out");
  const Journal::Stage same(again, "scan");
  Counted second;
  ForwardPass pass(second, 0, again);
  pass.reach(3, 1);
  EXPECT_EQ(second.layers, 3) << "the state is of a later layer";
  pass.reach(6, 1);
  EXPECT_EQ(second.layers, 5) << "from layer 4 on";
  EXPECT_EQ(second.next_tokens(1).losses, whole.next_tokens(1).losses);
  pass.reach(2, 0);
  EXPECT_EQ(second.layers, 7) << "of the other document there is none";
}

// A pair of heads that asks for the logits of its rows, and sees what it is given.
class Asking final : public PairOfHeads {
 public:
  std::span<const HeadInput> begin_layer(int layer, int document) override {
    for (std::size_t h = 0; h < 2; ++h) {
      outputs[h].head = &heads()[h];
      heads()[h].output = &outputs[h];
    }
    return this->layer(layer, document);
  }
  void finish_layer() override { finished = true; }

  struct Output final : HeadOutput {
    void add(Index first, MatrixView<const float> logits) override {
      const std::lock_guard hold(lock);
      for (Index r = 0; r < logits.rows(); ++r) {
        ++given[first + r];
        for (Index key = 0; key <= first + r; ++key) {
          const float score = dot(head->queries.row(first + r), head->keys.row(key));
          EXPECT_NEAR(logits(r, key), head->scale * score, 1e-5);
        }
      }
    }
    const HeadInput* head = nullptr;
    std::mutex lock;
    std::map<Index, int> given;  // how often a query was
  };
  std::array<Output, 2> outputs;
  bool finished = false;
};

void expect_given(const ScanOptions& options, std::array<std::size_t, 2> rows) {
  Asking source;
  scan(source, options);
  EXPECT_TRUE(source.finished);
  for (std::size_t h = 0; h < 2; ++h) {
    EXPECT_EQ(source.outputs[h].given.size(), rows[h]) << "head " << h;
    for (const auto& [query, times] : source.outputs[h].given) EXPECT_EQ(times, 1) << query;
  }
}

TEST(ForwardPass, IsGivenTheLogitsOfHeadsWhoseRowsAreAllScored) {
  constexpr std::size_t all = kLength;
  ScanOptions options = options_with("none");
  options.measures = {"weights"};
  expect_given(options, {all, all});
  options.heads = "0.1";
  expect_given(options, {0, all});
  options = options_with("window:size=16", "ssmax");
  options.measures = {"weights"};
  expect_given(options, {all, all});
  options.normalizer = "cosine";  // logits of its own
  expect_given(options, {0, 0});
  options = options_with("none");
  options.measures = {"weights"};
  options.queries = 4;
  expect_given(options, {0, 0});
  options.queries = 0;
  options.lengths = {64};
  expect_given(options, {0, 0});
}

}  // namespace
}  // namespace headgauge
