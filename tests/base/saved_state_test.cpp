#include "base/saved_state.hpp"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.hpp"
#include "headgauge/base.hpp"
#include "test_data.hpp"

namespace headgauge {
namespace {

using Json = SavedState::Json;
using testing::TemporaryFolder;

const Json kIdentity = {{"seed", 17}, {"name", "caf\u00e9"}};
const Json kFinished = {{"errors", {0.1, 1e-300, 12345.678}}, {"count", 3}};

SavedState state(const std::string& path, const Json& identity = kIdentity) {
  return {path, "headgauge.test-state/1", "the state of a test", "TestOptions::state", identity};
}

Json load(const SavedState& saved) {
  Json found;
  return saved.load([&](const Json& finished) { found = finished; }) ? found : Json("nothing");
}

std::string refused(const SavedState& saved) {
  try {
    load(saved);
  } catch (const BadInputError& error) {
    return error.what();
  }
  return "loaded";
}

TEST(SavedState, IsFoundAgain) {
  const TemporaryFolder folder("state-found");
  EXPECT_EQ(load(state(folder / "s")), "nothing");
  state(folder / "s").save(kFinished);
  EXPECT_EQ(load(state(folder / "s")), kFinished);
}

TEST(SavedState, IsNotKeptWithoutAPath) {
  state("").save(kFinished);
  EXPECT_EQ(load(state("")), "nothing");
}

TEST(SavedState, AChangedDigitIsRefused) {
  const TemporaryFolder folder("state-digit");
  const std::string path = folder / "s";
  state(path).save(kFinished);
  const std::string text = read_file(path);
  int digits = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] < '0' || text[i] > '9') continue;
    std::string changed = text;
    changed[i] = changed[i] == '9' ? '1' : static_cast<char>(changed[i] + 1);
    write_atomically(path, changed);
    const std::string message = refused(state(path));
    EXPECT_NE(message.find("; delete " + path + " to start again"), message.npos)
        << "digit " << i << ": " << message;
    ++digits;
  }
  EXPECT_GT(digits, 50);
}

TEST(SavedState, AFileOfSomebodyElseIsNotToBeDeleted) {
  const TemporaryFolder folder("state-foreign");
  for (const char* text : {"{}", R"({"schema": "mine/1"})", R"({"schema": 7})"}) {
    write_atomically(folder / "s", text);
    const std::string message = refused(state(folder / "s"));
    EXPECT_NE(message.find("a file that headgauge did not write; move it"), message.npos)
        << message;
  }
}

TEST(SavedState, OneCutShortOrOfAnotherKindIsRefused) {
  const TemporaryFolder folder("state-cut");
  const std::string path = folder / "s";
  state(path).save(kFinished);
  const std::string text = read_file(path);
  for (std::size_t size = 0; size + 1 < text.size(); ++size) {
    write_atomically(path, text.substr(0, size));
    EXPECT_NE(refused(state(path)).find("to start again"), std::string::npos) << size;
  }
  for (const char* other : {"[]", R"({"schema": "headgauge.test-state/0"})", "3"}) {
    write_atomically(path, other);
    EXPECT_NE(refused(state(path)).find("to start again"), std::string::npos) << other;
  }
}

TEST(SavedState, OneOfAnotherIdentityIsRefusedByName) {
  const TemporaryFolder folder("state-other");
  const std::string path = folder / "s";
  state(path).save(kFinished);
  Json other = kIdentity;
  other["seed"] = 18;
  EXPECT_NE(refused(state(path, other)).find("another value of seed"), std::string::npos);
  other = kIdentity;
  other["more"] = 1;
  EXPECT_NE(refused(state(path, other)).find("another value of more"), std::string::npos);
  other = kIdentity;
  other.erase("name");
  EXPECT_NE(refused(state(path, other)).find("with more settings"), std::string::npos);
}

}  // namespace
}  // namespace headgauge
