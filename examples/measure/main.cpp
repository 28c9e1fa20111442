// A measure of one's own: how much of its weight every head puts on the token before the query.
//
//   measure_example MODEL TEXT
#include <cstdio>
#include <headgauge/headgauge.hpp>

namespace hg = headgauge;

class PreviousToken final : public hg::Measure {
 public:
  void declare(hg::MetricRegistry& metrics) override {
    previous_ = metrics.add({.name = "previous_token_weight",
                             .group = "own",
                             .unit = "1",
                             .formula = "a_{i,i-1}",
                             .meaning = "weight on the token before the query"});
  }
  hg::MeasureNeeds needs() const override { return {.weights = true}; }

  void observe(const hg::RowBlock& block, int /*slot*/, hg::RowSink& sink) override {
    for (hg::Index r = 0; r < block.size(); ++r) {
      const hg::Row& row = block.rows[r];
      for (hg::Index i = 0; i < row.n(); ++i) {
        if (row.key(i) == row.query - 1) sink.set(r, previous_, row.weights[i]);
      }
    }
  }

 private:
  hg::MetricHandle previous_;
};

int main(int argc, char** argv) try {
  if (argc != 3) throw hg::UsageError("usage: measure_example MODEL TEXT");
  hg::ScanRequest request;
  request.options.lengths = {32};
  request.options.measures = {"weights"};
  request.options.own_measures = {[](const hg::MeasureOptions&, const hg::SourceInfo&,
                                     int /*slots*/) { return std::make_unique<PreviousToken>(); }};
  hg::Session session(hg::Model(argv[1]), hg::text_files({argv[2]}));
  const hg::Results results = session.scan(request);

  for (hg::Index layer = 0; layer < results.coord_size("layer"); ++layer) {
    for (hg::Index head = 0; head < results.coord_size("head"); ++head) {
      std::printf("head %td.%td puts %.3f on the token before\n", layer, head,
                  results.at("previous_token_weight", {layer, head, 0}));
    }
  }
} catch (const hg::Error& error) {
  std::fprintf(stderr, "measure_example: %s\n", error.what());
  return error.exit_code();
}
