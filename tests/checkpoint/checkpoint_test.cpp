#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/sha256.hpp"
#include "checkpoint/shard_index.hpp"
#include "headgauge/checkpoint.hpp"
#include "made_file.hpp"

namespace headgauge {
namespace {

using testing::expect_error;
using testing::TemporaryFolder;
using testing::write_bytes;

// A checkpoint of two shards: "a" and "b" in the first, "c" in the second.
class Sharded : public ::testing::Test {
 protected:
  Sharded() : folder_("sharded") {
    const std::vector<float> values = {1, 2, 3, 4, 5, 6};
    const TensorData first[] = {float_tensor("a", {2, 3}, values), float_tensor("b", {6}, values)};
    const TensorData second[] = {float_tensor("c", {3, 2}, values)};
    write_safetensors(folder_ / "one.safetensors", first);
    write_safetensors(folder_ / "two.safetensors", second);
    write_bytes(folder_ / "config.json", R"({"model_type": "test"})");
    write_index(R"({"metadata": {"total_size": 72}, "weight_map":
      {"a": "one.safetensors", "b": "one.safetensors", "c": "two.safetensors"}})");
  }
  void write_index(const std::string& text) { write_bytes(index(), text); }
  std::string index() const { return folder_ / "model.safetensors.index.json"; }

  TemporaryFolder folder_;
};

TEST_F(Sharded, FindsTensorsInAllShards) {
  const Checkpoint checkpoint = Checkpoint::open(folder_.path());
  EXPECT_EQ(checkpoint.config().get<std::string>("model_type"), "test");
  EXPECT_EQ(checkpoint.names(), (std::vector<std::string_view>{"a", "b", "c"}));
  EXPECT_EQ(checkpoint.bytes(), 72u);
  EXPECT_EQ(checkpoint.require("c", {3, 2}).matrix()(2, 1), 6.0f);
  EXPECT_EQ(checkpoint.require("a", {-1, 3}).matrix()(1, 0), 4.0f);
  EXPECT_EQ(checkpoint.find("d"), nullptr);
  EXPECT_EQ(checkpoint.model().weights.size(), 2u);
}

TEST_F(Sharded, StaysWholeWhenMoved) {
  Checkpoint first = Checkpoint::open(folder_.path());
  const Checkpoint second = std::move(first);
  EXPECT_EQ(second.require("c", {3, 2}).values()[5], 6.0f);
}

TEST_F(Sharded, NamesWhatIsMissingOrOfAnotherShape) {
  const Checkpoint checkpoint = Checkpoint::open(folder_.path());
  expect_error({index(), "\"d\"", "[4, any]", "among 3, such as \"a\"", "the same model"}, [&] {
    checkpoint.require("d", {4, -1});
  });
  expect_error({"\"model.d\"", "such as \"a\"", "the same model"},
               [&] { checkpoint.require("model.d", {4}); });
  expect_error({folder_ / "two.safetensors", "\"c\"", "[2, 3]", "[3, 2]"}, [&] {
    checkpoint.require("c", {2, 3});
  });
}

// The file may well come from the same model.
TEST_F(Sharded, SaysThatAWrapperChangedTheNames) {
  const std::vector<float> value = {1};
  const TensorData wrapped[] = {float_tensor("module.d", {1}, value)};
  write_safetensors(folder_ / "one.safetensors", wrapped);
  write_index(R"({"weight_map": {"module.d": "one.safetensors"}})");
  const Checkpoint checkpoint = Checkpoint::open(folder_.path());
  expect_error({"\"d\"", "such as \"module.d\"", "save_pretrained()"},
               [&] { checkpoint.require("d", {1}); });
}

TEST_F(Sharded, NamesTheShardThatIsMissing) {
  std::filesystem::remove(folder_ / "two.safetensors");
  expect_error({index(), "\"two.safetensors\"", "\"c\""},
               [&] { Checkpoint::open(folder_.path()); });
}

TEST_F(Sharded, NamesTheTensorThatItsShardLacks) {
  write_index(R"({"weight_map": {"a": "one.safetensors", "c": "one.safetensors"}})");
  expect_error({folder_ / "one.safetensors", "\"c\""}, [&] { Checkpoint::open(folder_.path()); });
}

TEST_F(Sharded, RefusesOneShardForTheWhole) {
  expect_error({folder_ / "two.safetensors", "one of its shards", "folder"},
               [&] { Checkpoint::open(folder_ / "two.safetensors"); });
}

TEST_F(Sharded, TakesOnlyWhatTheIndexNames) {
  write_index(R"({"weight_map": {"a": "one.safetensors"}})");
  EXPECT_EQ(Checkpoint::open(folder_.path()).find("b"), nullptr);
}

TEST_F(Sharded, MayLieInAFolderOfTheirIndex) {
  std::filesystem::create_directories(folder_ / "sub");
  std::filesystem::rename(folder_ / "two.safetensors", folder_ / "sub/two.safetensors");
  write_index(R"({"weight_map": {"a": "./one.safetensors", "b": "x/../one.safetensors",
                                 "c": "./sub//two.safetensors"}})");
  const Checkpoint checkpoint = Checkpoint::open(folder_.path());
  EXPECT_EQ(checkpoint.require("c", {3, 2}).values()[5], 6.0f);
  EXPECT_NE(checkpoint.find("b"), nullptr);
  EXPECT_EQ(checkpoint.model().weights.size(), 2u);
}

TEST_F(Sharded, RefusesMalformedIndexes) {
  const auto refused = [&](const std::string& text, std::vector<std::string> parts) {
    SCOPED_TRACE(text);
    write_index(text);
    parts.push_back(index());
    expect_error(parts, [&] { Checkpoint::open(folder_.path()); });
  };
  refused("", {"JSON"});
  refused("{\"weight_map\": {\"a\"", {"JSON", "byte 19"});
  refused("{}", {"weight_map", "no such field"});
  refused(R"({"weight_map": []})", {"weight_map", "a list of 0"});
  refused(R"({"weight_map": {}})", {"weight_map", "an empty one"});
  refused(R"({"weight_map": {"a": 1}})", {"\"a\"", "found 1"});
  refused(R"({"weight_map": {"a": ""}})", {"\"a\""});
  refused(R"({"weight_map": {"a": "../one.safetensors"}})", {"\"a\"", "../one.safetensors"});
  for (const char* file : {"..", ".", "./", "sub/", "sub/../..", "sub/../../one.safetensors",
                           "/one.safetensors", "//one.safetensors"}) {
    refused(std::string(R"({"weight_map": {"a": ")") + file + "\"}}",
            {"\"a\"", "a file in the folder of the index"});
  }
  refused(R"({"weight_map": {"a": "x\u0000y"}})", {"\"a\"", "x\\x00y"});
  refused(R"({"weight_map": {"a": "x", "a": "y"}})", {"\"a\"", "twice"});
}

TEST(CheckpointFile, IsReadBesideItsConfig) {
  const TemporaryFolder folder("beside");
  const std::vector<float> values = {1, 2};
  const TensorData tensors[] = {float_tensor("w", {2}, values)};
  write_safetensors(folder / "weights.safetensors", tensors);
  expect_error({"weights.safetensors", "config.json"},
               [&] { Checkpoint::open(folder / "weights.safetensors"); });
  write_bytes(folder / "config.json", "{}");
  EXPECT_EQ(Checkpoint::open(folder / "weights.safetensors").require("w", {2}).values()[1], 2.0f);
  expect_error({folder / "weights.safetensors", "\"v\""},
               [&] { Checkpoint::open(folder / "weights.safetensors").require("v", {2}); });
}

TEST(CheckpointFile, ComparesTwoTensorsOnce) {
  const TemporaryFolder folder("compared");
  const std::string path = folder / "model.safetensors";
  const std::vector<float> values = {1, 2}, others = {1, 3};
  const TensorData tensors[] = {float_tensor("a", {2}, values), float_tensor("b", {2}, values),
                                float_tensor("c", {2}, others)};
  write_safetensors(path, tensors);
  write_bytes(folder / "config.json", "{}");
  const Checkpoint checkpoint = Checkpoint::open(folder.path());
  const auto equal = [](const Checkpoint& one, const char* name) {
    return one.are_equal(one.require("a", {2}), one.require(name, {2}));
  };
  EXPECT_TRUE(equal(checkpoint, "b"));
  EXPECT_FALSE(equal(checkpoint, "c"));
  // The mapped bytes change, and what was found stays.
  const float changed = 7;
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(-std::streamoff{4 * sizeof(float)}, std::ios::end);
  file.write(reinterpret_cast<const char*>(&changed), sizeof(changed));
  file.close();
  const Checkpoint copy = checkpoint;
  EXPECT_TRUE(equal(copy, "b"));
  EXPECT_FALSE(equal(Checkpoint::open(folder.path()), "b"));
}

TEST(CheckpointHashes, TellModelsApart) {
  const TemporaryFolder folder("hashes");
  const std::vector<float> values = {1, 2};
  const TensorData one[] = {float_tensor("w", {2}, values)};
  const TensorData other[] = {float_tensor("v", {2}, values)};
  write_safetensors(folder / "model.safetensors", one);
  write_bytes(folder / "config.json", "{}");
  const Checkpoint model = Checkpoint::open(folder.path());
  EXPECT_EQ(model.config().sha256(), sha256_hex(testing::as_bytes("{}")));
  // Of so small a file, that of all its bytes.
  const std::string hash =
      sha256_hex(testing::as_bytes(testing::read_bytes(folder / "model.safetensors")));
  EXPECT_EQ(model.weights_sha256(), hash);
  model.require_unchanged();
  write_safetensors(folder / "model.safetensors", other);
  write_bytes(folder / "config.json", "{ }");
  EXPECT_NE(Checkpoint::open(folder.path()).weights_sha256(), hash);
  // What was opened is what it was, and known to have changed.
  EXPECT_EQ(model.weights_sha256(), hash);
  EXPECT_EQ(model.config().sha256(), sha256_hex(testing::as_bytes("{}")));
  expect_error({folder / "model.safetensors", "another file under its name"},
               [&] { model.require_unchanged(); });
}

TEST(CheckpointHashes, TellTrainingsApart) {
  const TemporaryFolder folder("trainings");
  write_bytes(folder / "config.json", "{}");
  const auto hash_of = [&](const std::vector<float>& values) {
    const TensorData tensors[] = {float_tensor("w", {Index{10'000}}, values)};
    write_safetensors(folder / "model.safetensors", tensors);
    return Checkpoint::open(folder.path()).weights_sha256();
  };
  std::vector<float> values(10'000, 1.0f);
  const std::string hash = hash_of(values);
  EXPECT_EQ(hash_of(values), hash);
  // Bytes 0 to 4095, from 11968, from 23936 and from 35904 to the last of 40,000.
  for (const std::size_t seen : {0, 1023, 2992, 4015, 5984, 7007, 8976, 9999}) {
    std::vector<float> other = values;
    other[seen] = 2.0f;
    EXPECT_NE(hash_of(other), hash) << seen;
  }
  std::vector<float> other = values;
  other[1024] = 2.0f;  // between the parts
  EXPECT_EQ(hash_of(other), hash);
}

}  // namespace
}  // namespace headgauge
