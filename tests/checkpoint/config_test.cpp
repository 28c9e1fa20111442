#include <gtest/gtest.h>

#include "headgauge/checkpoint.hpp"
#include "made_file.hpp"

namespace headgauge {
namespace {

using testing::expect_error;

ConfigReader made_config() {
  return ConfigReader(R"({"n_layer": 12, "eps": 1e-5, "one": 1, "tied": true, "name": "gpt2",
    "n_inner": null, "big": 4294967296, "huge": 18446744073709551615, "fraction": 12.5,
    "whole": 12.0, "zero": 0, "minus": -3, "ids": [1, -2], "kinds": ["a", "b"],
    "mixed": [1, "a"], "rope": {"factor": 2, "low": null, "deeper": {"x": "y"}}})",
                      "folder/config.json");
}

TEST(ConfigReader, ReadsEveryType) {
  const ConfigReader config = made_config();
  EXPECT_EQ(config.get<int>("n_layer"), 12);
  EXPECT_EQ(config.get<int>("minus"), -3);
  EXPECT_EQ(config.get<std::int64_t>("big"), 4294967296);
  EXPECT_EQ(config.get<double>("eps"), 1e-5);
  EXPECT_EQ(config.get<double>("one"), 1.0);
  EXPECT_TRUE(config.get<bool>("tied"));
  EXPECT_EQ(config.get<std::string>("name"), "gpt2");
  EXPECT_EQ(config.get<std::vector<int>>("ids"), (std::vector<int>{1, -2}));
  EXPECT_EQ(config.get<std::vector<std::string>>("kinds"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(config.get<std::vector<double>>("ids"), (std::vector<double>{1, -2}));
  EXPECT_EQ(config.get_size("n_layer"), 12);
  EXPECT_EQ(config.get_size("zero", 0, 0), 0);
}

TEST(ConfigReader, RefusesAFieldThatStandsTwice) {
  for (const char* text : {R"({"n_layer": 1, "n_layer": 2})", R"({"rope": {"a": 1, "a": 1}})"}) {
    expect_error({"twice"}, [&] { ConfigReader(text, "folder/config.json"); });
  }
}

TEST(ConfigReader, TakesNullForMissing) {
  const ConfigReader config = made_config();
  EXPECT_FALSE(config.has("n_inner"));
  EXPECT_FALSE(config.has("absent"));
  EXPECT_EQ(config.get_or<int>("n_inner", 7), 7);
  EXPECT_EQ(config.get_or<int>("absent", 8), 8);
  EXPECT_EQ(config.get_or<int>("n_layer", 9), 12);
}

TEST(ConfigReader, SaysFieldExpectedFoundAndFile) {
  const ConfigReader config = made_config();
  const auto refused = [&](auto type, const char* key, const std::vector<std::string>& parts) {
    SCOPED_TRACE(key);
    std::vector<std::string> all = parts;
    all.push_back(std::string("folder/config.json: field ") + key + ": expected ");
    expect_error(all, [&] { config.get<decltype(type)>(key); });
  };
  refused(int{}, "absent", {"an integer", "no such field"});
  refused(int{}, "n_inner", {"an integer", "null"});
  refused(int{}, "name", {"an integer", "found \"gpt2\""});
  refused(int{}, "fraction", {"an integer", "12.5"});
  refused(int{}, "whole", {"an integer", "12.0"});
  refused(int{}, "tied", {"an integer", "true"});
  refused(int{}, "big", {"32 bits", "4294967296"});
  refused(std::int64_t{}, "huge", {"an integer", "18446744073709551615"});
  refused(double{}, "name", {"a number"});
  refused(double{}, "tied", {"a number", "true"});
  refused(bool{}, "one", {"true or false", "1"});
  refused(std::string{}, "ids", {"text", "a list of 2"});
  refused(std::vector<int>{}, "mixed", {"a list of integers"});
  refused(std::vector<double>{}, "mixed", {"a list of numbers"});
  refused(std::vector<std::string>{}, "mixed", {"a list of texts"});
  refused(std::vector<int>{}, "rope", {"an object"});
  // An override with a default still refuses what is there and wrong.
  expect_error({"field name"}, [&] { config.get_or<int>("name", 1); });
}

TEST(ConfigReader, HoldsSizesToTheirRange) {
  const ConfigReader config = made_config();
  expect_error({"field zero", "from 1 to 2147483647", "found 0"}, [&] { config.get_size("zero"); });
  expect_error({"field big", "4294967296"}, [&] { config.get_size("big"); });
  expect_error({"field minus", "-3"}, [&] { config.get_size("minus"); });
  expect_error({"field n_layer", "from 1 to 11", "12"}, [&] { config.get_size("n_layer", 1, 11); });
  expect_error({"field huge"}, [&] { config.get_size("huge"); });
}

TEST(ConfigReader, NamesNestedFieldsByTheirPath) {
  const ConfigReader rope = made_config().child("rope");
  EXPECT_EQ(rope.get<double>("factor"), 2.0);
  EXPECT_EQ(rope.child("deeper").get<std::string>("x"), "y");
  expect_error({"folder/config.json: field rope.deeper.x"},
               [&] { rope.child("deeper").get<int>("x"); });
  expect_error({"field name", "an object"}, [&] { made_config().child("name"); });
}

TEST(ConfigReader, SaysWhereJsonEnds) {
  const auto refused = [](const char* text, const std::vector<std::string>& parts) {
    SCOPED_TRACE(text);
    expect_error(parts, [&] { ConfigReader(text, "c.json"); });
  };
  refused("", {"c.json", "JSON", "byte 0"});
  refused("{\"a\": 1,}", {"c.json", "syntax error at byte 8"});
  refused("{\"a\": \"\xC3(\"}", {"c.json", "not UTF-8", "byte 8"});
  refused("[1, 2]", {"c.json", "a list of 2"});
  refused("3", {"c.json", "found 3"});
  refused("{\"a\": 1e999}", {"c.json"});
  // Python writes these.
  refused("{\"a\": NaN}", {"c.json", "NaN or Infinity in place of a number or null at byte 6"});
  refused("{\"a\": [-Infinity]}", {"NaN or Infinity in place of a number or null at byte 8"});
  refused("{\"a\": nan}", {"a syntax error at byte 7"});
  // What a failed download leaves.
  refused("version https://git-lfs.github.com/spec/v1\noid sha256:0\n",
          {"c.json", "a pointer of Git LFS", "git lfs pull"});
  refused("<!doctype html>\n<html></html>", {"c.json", "a page of HTML", "/resolve/"});
  const std::string whole = R"({"model_type": "gpt2", "sizes": [1, {"x": null}]})";
  for (std::size_t size = 0; size < whole.size(); ++size) {
    expect_error({"c.json"},
                 [&] { ConfigReader(std::string_view(whole).substr(0, size), "c.json"); });
  }
}

TEST(ConfigReader, TakesTheSecondNameOfAFieldBeforeTheFirst) {
  const ConfigReader config(R"({"a": 1, "b": 2, "c": null})", "c.json");
  EXPECT_EQ(config.either("a", "b"), "b");
  EXPECT_EQ(config.either("a", "c"), "a");
  EXPECT_EQ(config.either("x", "y"), "x");
}

TEST(ConfigReader, NamesFieldsAsTheirSourceDoes) {
  const ConfigReader config(R"({"n": 0, "rope": {"factor": "x"}, "other": 1})", "m.gguf: metadata",
                            {{"n", "llama.count"}, {"rope.factor", "llama.rope.factor"}});
  expect_error({"m.gguf: metadata llama.count: ", "llama.cpp's converter"},
               [&] { config.get_size("n"); });
  expect_error({"m.gguf: metadata llama.rope.factor: "},
               [&] { config.child("rope").get<double>("factor"); });
  EXPECT_EQ(config.where("other"), "m.gguf: metadata: field other");
}

TEST(ConfigReader, OpensFiles) {
  const testing::TemporaryFolder folder("config");
  expect_error({folder / "config.json", "No such file"},
               [&] { ConfigReader::open(folder / "config.json"); });
  expect_error({folder.path(), "a folder"}, [&] { ConfigReader::open(folder.path()); });
  testing::write_bytes(folder / "config.json", "{\"n\": 3}\n");
  EXPECT_EQ(ConfigReader::open(folder / "config.json").get<int>("n"), 3);
}

}  // namespace
}  // namespace headgauge
