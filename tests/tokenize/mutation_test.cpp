// Damaged tokenizer files: whatever is in them, loading and encoding either work or throw an
// Error in one line.
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "files.hpp"
#include "headgauge/tokenize.hpp"

namespace headgauge {
namespace {

using nlohmann::json;

// A small file of every kind that real tokenizers come in.
std::vector<std::string> corpus() {
  const std::filesystem::path folder =
      std::filesystem::path(HEADGAUGE_SOURCE_DIR) / "tests/tokenize/corpus";
  std::vector<std::string> files;
  for (const char* name : {"byte_level_bpe", "word_piece", "byte_fallback_bpe", "unigram"}) {
    files.push_back(slurp(folder / (std::string(name) + ".json")));
  }
  return files;
}

// Loads, and where that works encodes and shows; anything but an Error is a failure.
void survive(const TemporaryFolder& folder, const std::string& bytes) {
  folder.write("tokenizer.json", bytes);
  try {
    const Tokenizer tokenizer = Tokenizer::load(folder.path());
    for (const char* text : {"", "one", "one ones <|e|>\n one\xC3\xA9 \xF0\x9F\xA6\x99"}) {
      for (const int id : tokenizer.encode(text)) tokenizer.piece(id);
    }
    for (int id = 0; id < 8; ++id) tokenizer.piece(id);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::bad_input);
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
  }
}

// Every value of the tree, the root first.
void collect(json& node, std::vector<json*>& nodes) {
  nodes.push_back(&node);
  if (node.is_structured()) {
    for (json& child : node) collect(child, nodes);
  }
}

json replacement(std::mt19937& random, const json& old) {
  switch (random() % 12) {
    case 0:
      return nullptr;
    case 1:
      return -1;
    case 2:
      return 4294967295u;
    case 3:
      return 18446744073709551615u;
    case 4:
      return 1e300;
    case 5:
      return "";
    case 6:
      return "(";
    case 7:
      return "\xE2\x96\x81\xC3\xA9";
    case 8:
      return json::array();
    case 9:
      return json::object();
    case 10:
      return json::array({old, old});
    default:
      return true;
  }
}

TEST(TokenizerMutation, TheCorpusItselfLoads) {
  const TemporaryFolder folder;
  for (const std::string& file : corpus()) {
    folder.write("tokenizer.json", file);
    EXPECT_FALSE(Tokenizer::load(folder.path()).encode("one").empty());
  }
}

TEST(TokenizerMutation, CutAtEveryByte) {
  const TemporaryFolder folder;
  for (const std::string& file : corpus()) {
    for (std::size_t size = 0; size + 1 < file.size(); ++size) {
      folder.write("tokenizer.json", std::string_view(file).substr(0, size));
      ASSERT_NE(error_of([&] { Tokenizer::load(folder.path()); }), "no error") << size;
    }
  }
}

TEST(TokenizerMutation, BytesChanged) {
  const TemporaryFolder folder;
  std::mt19937 random(20260101);
  for (const std::string& file : corpus()) {
    for (int trial = 0; trial < 500; ++trial) {
      std::string bytes = file;
      for (auto changes = 1 + random() % 4; changes > 0; --changes) {
        bytes[random() % bytes.size()] = static_cast<char>(random());
      }
      survive(folder, bytes);
    }
  }
}

TEST(TokenizerMutation, ValuesReplaced) {
  const TemporaryFolder folder;
  std::mt19937 random(20260102);
  for (const std::string& file : corpus()) {
    for (int trial = 0; trial < 1000; ++trial) {
      json tree = json::parse(file);
      std::vector<json*> nodes;
      collect(tree, nodes);
      json& node = *nodes[random() % nodes.size()];
      node = replacement(random, node);
      survive(folder, tree.dump());
    }
  }
}

TEST(TokenizerMutation, NestedDeeply) {
  const TemporaryFolder folder;
  survive(folder, std::string(200000, '['));
  std::string nested;
  for (int i = 0; i < 5000; ++i) nested += R"({"normalizer":{"type":"Sequence","normalizers":[)";
  survive(folder, nested);
}

}  // namespace
}  // namespace headgauge
