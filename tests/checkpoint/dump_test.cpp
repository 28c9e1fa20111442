#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "headgauge/checkpoint.hpp"
#include "made_file.hpp"

namespace headgauge {
namespace {

using testing::expect_error;
using testing::TemporaryFolder;

// A dump to be written: zeros of the shapes given.
struct MadeDump {
  std::map<std::string, std::vector<Index>> shapes;
  std::map<std::string, std::string> metadata = {{"format", "headgauge.dump/1"},
                                                 {"causal", "true"}};

  DumpFile read() const {
    static const std::vector<std::byte> zeros(1 << 16);
    std::vector<TensorData> tensors;
    for (const auto& [name, shape] : shapes) {
      std::size_t size = 4;
      for (const Index n : shape) size *= static_cast<std::size_t>(n);
      tensors.push_back({name, DType::F32, shape, std::span(zeros).first(size)});
    }
    const TemporaryFolder folder("dump");
    write_safetensors(folder / "d.safetensors", tensors, metadata);
    return DumpFile(folder / "d.safetensors");
  }
};

// Two layers, four heads over two of keys and values, L = 5, d = 3, values of 2, one x of 6.
MadeDump made_dump() {
  MadeDump dump;
  for (const char* layer : {"layers.0.", "layers.1."}) {
    dump.shapes[std::string(layer) + "q"] = {4, 5, 3};
    dump.shapes[std::string(layer) + "k"] = {2, 5, 3};
    dump.shapes[std::string(layer) + "v"] = {2, 5, 2};
  }
  dump.shapes["x"] = {5, 6};
  return dump;
}

TEST(DumpFile, ReadsSizesFromTheTensors) {
  const DumpFile dump = made_dump().read();
  ASSERT_EQ(dump.layers().size(), 2u);
  EXPECT_EQ(dump.heads(), 4);
  EXPECT_EQ(dump.kv_heads(), 2);
  EXPECT_EQ(dump.length(), 5);
  EXPECT_EQ(dump.head_dim(), 3);
  EXPECT_EQ(dump.value_dim(), 2);
  EXPECT_EQ(dump.x_dim(), 6);
  EXPECT_TRUE(dump.shares_x());
  EXPECT_TRUE(dump.causal());
  EXPECT_FALSE(dump.has_scores());
  EXPECT_FLOAT_EQ(dump.scale(), 1 / std::sqrt(3.0f));
  EXPECT_EQ(dump.layers()[1].q->name, "layers.1.q");
  EXPECT_EQ(dump.layers()[0].x, dump.layers()[1].x);
}

TEST(DumpFile, TakesScoresInPlaceOfQueriesAndKeys) {
  MadeDump made;
  made.shapes = {{"layers.0.scores", {3, 4, 4}}, {"layers.0.x", {4, 2}}};
  made.metadata["causal"] = "false";
  made.metadata["scale"] = "0.5";
  const DumpFile dump = made.read();
  EXPECT_TRUE(dump.has_scores());
  EXPECT_EQ(dump.heads(), 3);
  EXPECT_EQ(dump.kv_heads(), 3);
  EXPECT_EQ(dump.length(), 4);
  EXPECT_EQ(dump.head_dim(), 0);
  EXPECT_EQ(dump.scale(), 1.0f);  // the scores are scaled already
  EXPECT_FALSE(dump.causal());
  EXPECT_FALSE(dump.shares_x());
  EXPECT_EQ(dump.layers()[0].q, nullptr);
}

TEST(DumpFile, ReadsTheScale) {
  MadeDump made = made_dump();
  made.metadata["scale"] = "0.0625";
  EXPECT_EQ(made.read().scale(), 0.0625f);
  for (const char* text : {"", "0", "-1", "nan", "inf", "1e99", "1.0 ", "a", "0x1"}) {
    SCOPED_TRACE(text);
    made.metadata["scale"] = text;
    expect_error({"d.safetensors", "scale", "a positive number"}, [&] { made.read(); });
  }
}

TEST(DumpFile, CountsLayersAsNumbers) {
  MadeDump made;
  for (int layer = 0; layer < 12; ++layer) {
    made.shapes["layers." + std::to_string(layer) + ".scores"] = {1, 2, 2};
  }
  const DumpFile dump = made.read();
  ASSERT_EQ(dump.layers().size(), 12u);
  EXPECT_EQ(dump.layers()[10].scores->name, "layers.10.scores");
}

TEST(DumpFile, RefusesWhatDoesNotFitTogether) {
  using Change = std::function<void(MadeDump&)>;
  const auto refused = [](const char* name, std::vector<std::string> parts, const Change& change) {
    SCOPED_TRACE(name);
    MadeDump made = made_dump();
    change(made);
    parts.push_back("d.safetensors");
    expect_error(parts, [&] { made.read(); });
  };
  refused("no q", {"\"layers.1.q\""}, [](MadeDump& d) { d.shapes.erase("layers.1.q"); });
  refused("no k", {"\"layers.0.k\""}, [](MadeDump& d) { d.shapes.erase("layers.0.k"); });
  refused("no v", {"layers.1.v"}, [](MadeDump& d) { d.shapes.erase("layers.1.v"); });
  refused("no v first", {"layers.0.v"}, [](MadeDump& d) { d.shapes.erase("layers.0.v"); });
  refused("both", {"\"layers.1.scores\"", "both"}, [](MadeDump& d) {
    d.shapes["layers.1.scores"] = {4, 5, 5};
  });
  refused("mixed", {"scores", "layers.0.scores"}, [](MadeDump& d) {
    d.shapes["layers.1.scores"] = {4, 5, 5};
    d.shapes.erase("layers.1.q");
    d.shapes.erase("layers.1.k");
  });
  refused("two x", {"\"layers.1.x\"", "both"}, [](MadeDump& d) {
    d.shapes["layers.1.x"] = {5, 6};
  });
  refused("one x of two", {"layers.1.x"}, [](MadeDump& d) {
    d.shapes.erase("x");
    d.shapes["layers.0.x"] = {5, 6};
  });
  refused("q rank", {"\"layers.0.q\"", "[any, any, any]", "[5, 3]"}, [](MadeDump& d) {
    d.shapes["layers.0.q"] = {5, 3};
  });
  refused("k length", {"\"layers.0.k\"", "[any, 5, 3]", "[2, 6, 3]"}, [](MadeDump& d) {
    d.shapes["layers.0.k"] = {2, 6, 3};
  });
  refused("heads differ", {"\"layers.1.q\"", "[4, 5, 3]", "[3, 5, 3]"}, [](MadeDump& d) {
    d.shapes["layers.1.q"] = {3, 5, 3};
  });
  refused("heads no multiple", {"multiple", "4 and 3"}, [](MadeDump& d) {
    for (const char* name : {"layers.0.k", "layers.1.k"}) d.shapes[name] = {3, 5, 3};
    for (const char* name : {"layers.0.v", "layers.1.v"}) d.shapes[name] = {3, 5, 2};
  });
  refused("v heads", {"\"layers.0.v\"", "[2, 5, any]", "[4, 5, 2]"}, [](MadeDump& d) {
    d.shapes["layers.0.v"] = {4, 5, 2};
  });
  refused("x length", {"\"x\"", "[5, any]", "[4, 6]"}, [](MadeDump& d) { d.shapes["x"] = {4, 6}; });
  refused("empty", {"\"layers.0.q\"", "at least 1", "[4, 0, 3]"}, [](MadeDump& d) {
    d.shapes["layers.0.q"] = {4, 0, 3};
  });
  refused("gap", {"\"layers.1.q\""}, [](MadeDump& d) {
    for (const char* part : {"q", "k", "v"}) {
      d.shapes[std::string("layers.2.") + part] = d.shapes[std::string("layers.1.") + part];
      d.shapes.erase(std::string("layers.1.") + part);
    }
  });
  refused("layer far away", {"\"layers.4000000000.q\"", "without gaps"}, [](MadeDump& d) {
    d.shapes["layers.4000000000.q"] = {4, 5, 3};
  });
  for (const char* name : {"layers.0.queries", "layers.00.q", "layers.-1.q", "layers..q",
                           "layers.0", "layer.0.q", "y", "layers.99999999999999999999.q"}) {
    refused(name, {std::string("\"") + name + "\"", "q, k, v, x or scores"},
            [&](MadeDump& d) { d.shapes[name] = {1}; });
  }
  refused("no layers", {"no layer"}, [](MadeDump& d) { d.shapes = {{"x", {5, 6}}}; });
  refused("no causal", {"causal", "none"}, [](MadeDump& d) { d.metadata.erase("causal"); });
  refused("causal", {"causal", "\"True\""}, [](MadeDump& d) { d.metadata["causal"] = "True"; });
  refused("no format", {"format"}, [](MadeDump& d) { d.metadata.erase("format"); });
}

// The two layers of made_dump() as layers 2 and 5 of 7.
MadeDump made_hybrid() {
  MadeDump dump;
  for (const auto& [name, shape] : made_dump().shapes) {
    const bool of_layer = name.starts_with("layers.");
    dump.shapes[of_layer ? (name[7] == '0' ? "layers.2" : "layers.5") + name.substr(8) : name] =
        shape;
  }
  dump.metadata["without_attention"] = "0,1,3,4,6";
  return dump;
}

TEST(DumpFile, LayersWithoutAttentionKeepTheirNumbers) {
  const DumpFile dump = made_hybrid().read();
  ASSERT_EQ(dump.layers().size(), 7u);
  EXPECT_EQ(dump.without_attention(), (std::vector<int>{0, 1, 3, 4, 6}));
  EXPECT_EQ(dump.first_layer().q->name, "layers.2.q");
  EXPECT_EQ(dump.layers()[5].k->name, "layers.5.k");
  EXPECT_EQ(dump.heads(), 4);
  for (const char* wrong :
       {"", "0,,1", "1,0", "0,0", "-1", "0, 1", "0,1,", "99999999999", "70000"}) {
    MadeDump made = made_hybrid();
    made.metadata["without_attention"] = wrong;
    expect_error({"without_attention", "ascending"}, [&] { made.read(); });
  }
  MadeDump gap = made_hybrid();
  gap.metadata["without_attention"] = "0,1,3,6";
  expect_error({"\"layers.4.q\""}, [&] { gap.read(); });
  for (const char* part : {"q", "k", "v", "x", "scores"}) {
    MadeDump both = made_hybrid();
    both.shapes.erase("x");
    both.shapes[std::string("layers.3.") + part] = {4, 5, 3};
    expect_error({"layers.3", "without attention"}, [&] { both.read(); });
  }
}

TEST(DumpFile, RefusesScoresThatAreNotSquare) {
  MadeDump made;
  made.shapes = {{"layers.0.scores", {3, 4, 5}}};
  expect_error({"\"layers.0.scores\"", "[3, 4, 5]"}, [&] { made.read(); });
}

TEST(DumpFile, RefusesALaterFormat) {
  MadeDump made = made_dump();
  made.metadata["format"] = "headgauge.dump/2";
  expect_error(ErrorKind::unsupported, {"d.safetensors", "headgauge.dump/1", "headgauge.dump/2"},
               [&] { made.read(); });
}

}  // namespace
}  // namespace headgauge
