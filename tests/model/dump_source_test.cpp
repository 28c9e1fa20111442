// Heads from dump files: every view shows the numbers that were written, in the right head.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "faults.hpp"
#include "headgauge/compare.hpp"
#include "headgauge/model.hpp"
#include "headgauge/scan.hpp"
#include "test_data.hpp"

namespace headgauge {
namespace {

using testing::TemporaryFolder;

// A dump in which every element says which one it is.
class MadeDump {
 public:
  explicit MadeDump(const std::string& name) : folder_("dump-" + name) {}

  void add(const std::string& name, std::vector<Index> shape) {
    Index n = 1;
    for (const Index size : shape) n *= size;
    std::vector<float>& values = values_[name];
    for (Index i = 0; i < n; ++i) values.push_back(base(name) + static_cast<float>(i));
    shapes_[name] = std::move(shape);
  }
  // Different tensors hold different numbers, all of them exact in 16 bits.
  static float base(const std::string& name) {
    return static_cast<float>(128 * (name.back() % 4)) -
           64.0f * static_cast<float>(name.size() % 2);
  }
  std::vector<float>& values(const std::string& name) { return values_[name]; }

  std::unique_ptr<HeadSource> open(XSource x = XSource::embedding) {
    const std::string path = folder_ / "dump.safetensors";
    std::vector<TensorData> tensors;
    for (const auto& [name, values] : values_) {
      tensors.push_back(float_tensor(name, shapes_[name], values));
    }
    write_safetensors(path, tensors, metadata);
    return make_dump_source(resolve_model(path), {.x = x});
  }

  std::map<std::string, std::string> metadata = {{"format", "headgauge.dump/1"},
                                                 {"causal", "true"}};

 private:
  TemporaryFolder folder_;
  std::map<std::string, std::vector<float>> values_;
  std::map<std::string, std::vector<Index>> shapes_;
};

// Whether the view holds consecutive numbers from `first`, row by row.
void expect_counts(MatrixView<const float> view, Index rows, Index cols, float first) {
  ASSERT_EQ(view.rows(), rows);
  ASSERT_EQ(view.cols(), cols);
  for (Index r = 0; r < rows; ++r) {
    for (Index c = 0; c < cols; ++c) {
      ASSERT_EQ(view(r, c), first + static_cast<float>(r * cols + c)) << r << ", " << c;
    }
  }
}

// Two layers, four heads over two of keys and values, L = 3, d = 2.
void add_layers(MadeDump& dump) {
  for (const std::string layer : {"layers.0.", "layers.1."}) {
    dump.add(layer + "q", {4, 3, 2});
    dump.add(layer + "k", {2, 3, 2});
    dump.add(layer + "v", {2, 3, 5});
  }
}

// The same tensors as layers 0 and 1, and as layers 1 and 4 of 6.
TEST(DumpSource, LayersWithoutAttentionKeepTheirNumbers) {
  MadeDump dense("dense"), hybrid("hybrid");
  add_layers(dense);
  for (const auto& [layer, as] : {std::pair("0", "1"), std::pair("1", "4")}) {
    for (const char* part : {"q", "k", "v"}) {
      const std::string from = std::string("layers.") + layer + "." + part;
      const std::string to = std::string("layers.") + as + "." + part;
      const bool of_queries = part[0] == 'q';
      hybrid.add(to, {of_queries ? 4 : 2, 3, part[0] == 'v' ? 5 : 2});
      hybrid.values(to) = dense.values(from);
    }
  }
  hybrid.metadata["without_attention"] = "0,2,3,5";
  const auto source = hybrid.open(), plain = dense.open();
  const SourceInfo& info = source->info();
  EXPECT_EQ(info.layers, 6);
  EXPECT_EQ(info.attention_layers(), (std::vector<int>{1, 4}));
  EXPECT_EQ(info.attention_layers_before(4), 1);
  EXPECT_EQ(info.attention_layers_before(6), 2);
  const std::string notice = "layers 0, 2, 3, 5 of 6 have no attention and are left out";
  EXPECT_EQ(std::ranges::count(info.notices, notice), 1);
  for (const int layer : {0, 2, 3, 5}) EXPECT_TRUE(source->layer(layer, 0).empty());
  EXPECT_EQ(source->layer(4, 0)[3].layer, 4);
  ScanOptions options;
  options.lengths = {3};
  options.measures = {"weights"};
  const Results found = scan(*source, options), expected = scan(*plain, options);
  const auto has_true_layers = [](const Results& results) {
    return std::ranges::equal(results.coord_numbers("layer"), std::vector<double>{1, 4});
  };
  EXPECT_TRUE(has_true_layers(found));
  EXPECT_EQ(found.layers_done, 2);
  for (const char* name : {"entropy_with_sinks", "max_weight_with_sinks", "first_weight"}) {
    EXPECT_EQ(found.require_metric(name).values, expected.require_metric(name).values) << name;
  }
  CompareOptions compared;
  compared.scan = options;
  compared.normalizers = {"ssmax"};
  for (const Each each : {Each::none, Each::layer, Each::head}) {
    compared.each = each;
    const auto run = [&](HeadSource& of) {
      return compare(of, compared, make_interventions(compared, of.info()));
    };
    const Results of_hybrid = run(*source), of_dense = run(*plain);
    EXPECT_TRUE(has_true_layers(of_hybrid));
    for (const char* name : {"entropy_with_sinks", "output_change"}) {
      EXPECT_EQ(of_hybrid.require_metric(name).values, of_dense.require_metric(name).values)
          << name;
    }
  }
}

TEST(DumpSource, GivesEveryHeadItsOwnTensors) {
  MadeDump dump("heads");
  add_layers(dump);
  dump.add("x", {3, 7});
  const auto source = dump.open();
  EXPECT_EQ(source->info().layers, 2);
  EXPECT_EQ(source->info().heads, 4);
  EXPECT_EQ(source->info().kv_heads, 2);
  EXPECT_EQ(source->info().head_dim, 2);
  EXPECT_EQ(source->info().max_length, 3);
  EXPECT_EQ(source->info().documents, std::vector<Index>{3});
  EXPECT_TRUE(source->info().causal);
  EXPECT_TRUE(source->info().has_x);
  EXPECT_TRUE(source->info().has_values);
  EXPECT_FALSE(source->info().has_loss);
  EXPECT_TRUE(source->info().notices.empty());
  EXPECT_TRUE(source->next_tokens(0).losses.empty());
  for (int layer = 0; layer < 2; ++layer) {
    const std::string name = "layers." + std::to_string(layer) + ".";
    const auto heads = source->layer(layer, 0);
    ASSERT_EQ(heads.size(), 4u);
    for (int h = 0; h < 4; ++h) {
      const HeadInput& head = heads[h];
      EXPECT_EQ(head.layer, layer);
      EXPECT_EQ(head.head, h);
      EXPECT_EQ(head.kv_head, h / 2);
      EXPECT_EQ(head.length(), 3);
      EXPECT_EQ(head.visibility.kind(), Visibility::Kind::causal);
      EXPECT_FLOAT_EQ(head.scale, 1 / std::sqrt(2.0f));
      expect_counts(head.queries, 3, 2, MadeDump::base(name + "q") + 6.0f * static_cast<float>(h));
      expect_counts(head.keys, 3, 2, MadeDump::base(name + "k") + 6.0f * static_cast<float>(h / 2));
      expect_counts(head.values, 3, 5,
                    MadeDump::base(name + "v") + 15.0f * static_cast<float>(h / 2));
      expect_counts(head.x.rows, 3, 7, MadeDump::base("x"));
      EXPECT_TRUE(head.scores.empty());
    }
  }
}

TEST(DumpSource, MarksWhichVectorsAreTheSame) {
  const auto keys = [](HeadSource& source) {
    std::set<std::uint64_t> seen;
    for (int layer = 0; layer < 2; ++layer) {
      for (const HeadInput& head : source.layer(layer, 0)) seen.insert(head.x.key);
    }
    EXPECT_EQ(seen.count(0), 0u);
    return seen.size();
  };
  MadeDump shared("shared-x");
  add_layers(shared);
  shared.add("x", {3, 7});
  EXPECT_EQ(keys(*shared.open()), 1u);
  EXPECT_EQ(keys(*shared.open(XSource::value)), 4u);  // layers times heads of values

  MadeDump own("own-x");
  add_layers(own);
  own.add("layers.0.x", {3, 7});
  own.add("layers.1.x", {3, 7});
  own.values("layers.1.x")[0] = -5;
  const auto source = own.open(XSource::hidden);
  EXPECT_EQ(keys(*source), 2u);
  EXPECT_EQ(source->layer(1, 0)[0].x[0][0], -5.0f);
  EXPECT_EQ(source->layer(0, 0)[0].x[0][0], MadeDump::base("layers.0.x"));
}

TEST(DumpSource, TakesValuesForVectorsWhenAsked) {
  MadeDump dump("values");
  add_layers(dump);
  const auto source = dump.open(XSource::value);
  EXPECT_TRUE(source->info().has_x);
  const auto heads = source->layer(0, 0);
  expect_counts(heads[3].x.rows, 3, 5, MadeDump::base("layers.0.v") + 15);
}

TEST(DumpSource, SaysWhatIsNotThere) {
  MadeDump dump("absent");
  dump.add("layers.0.scores", {2, 3, 3});
  dump.metadata["causal"] = "false";
  for (const XSource x : {XSource::embedding, XSource::value}) {
    const auto source = dump.open(x);
    EXPECT_FALSE(source->info().has_x);
    EXPECT_FALSE(source->info().has_values);
    EXPECT_FALSE(source->info().causal);
    EXPECT_EQ(source->info().notices.size(), 1u);
    const auto heads = source->layer(0, 0);
    ASSERT_EQ(heads.size(), 2u);
    expect_counts(heads[1].scores, 3, 3, MadeDump::base("layers.0.scores") + 9);
    EXPECT_EQ(heads[1].scale, 1.0f);
    EXPECT_EQ(heads[1].length(), 3);
    EXPECT_EQ(heads[1].kv_head, 1);
    EXPECT_EQ(heads[1].visibility.kind(), Visibility::Kind::full);
    EXPECT_TRUE(heads[1].x.empty());
    EXPECT_TRUE(heads[1].queries.empty());
  }
}

TEST(DumpSource, WidensHalves) {
  const TemporaryFolder folder("dump-half");
  const std::vector<std::uint16_t> f16 = {0x3C00, 0x4000, 0x4200, 0x4400};   // 1 2 3 4
  const std::vector<std::uint16_t> bf16 = {0x3F80, 0x4000, 0x4040, 0x4080};  // 1 2 3 4
  const TensorData tensors[] = {
      {"layers.0.q", DType::F16, {1, 2, 2}, std::as_bytes(std::span(f16))},
      {"layers.0.k", DType::BF16, {1, 2, 2}, std::as_bytes(std::span(bf16))},
  };
  const std::string path = folder / "d.safetensors";
  write_safetensors(path, tensors,
                    {{"format", "headgauge.dump/1"}, {"causal", "true"}, {"scale", "0.25"}});
  const auto source = make_dump_source(resolve_model(path), {});
  const HeadInput& head = source->layer(0, 0)[0];
  expect_counts(head.queries, 2, 2, 1);
  expect_counts(head.keys, 2, 2, 1);
  EXPECT_EQ(head.scale, 0.25f);
}

TEST(DumpSource, NamesWhatIsNotFinite) {
  for (const char* name : {"layers.1.q", "layers.1.k", "layers.1.v", "layers.1.x"}) {
    SCOPED_TRACE(name);
    MadeDump dump("nan");
    add_layers(dump);
    dump.add("layers.0.x", {3, 7});
    dump.add("layers.1.x", {3, 7});
    dump.values(name)[7] = std::numeric_limits<float>::quiet_NaN();
    const auto source = dump.open();
    source->layer(0, 0);
    const std::string message = thrown<BadInputError>([&] { source->layer(1, 0); });
    expect_part(message, name);
    expect_part(message, "element 7");
  }
}

}  // namespace
}  // namespace headgauge
