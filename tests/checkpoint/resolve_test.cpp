// What a MODEL argument means, in temporary folders laid out as huggingface_hub does.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>

#include "headgauge/checkpoint.hpp"
#include "made_file.hpp"

namespace headgauge {
namespace {

namespace fs = std::filesystem;
using testing::expect_error;
using testing::TemporaryFolder;
using testing::write_bytes;

void write_model(const fs::path& folder) {
  fs::create_directories(folder);
  write_bytes((folder / "config.json").string(), "{}");
  write_safetensors((folder / "model.safetensors").string(), {});
}

class HubCache : public ::testing::Test {
 protected:
  HubCache() : folder_("hub") { variables_["HOME"] = folder_ / "home"; }

  // Puts a snapshot into the cache at `hub`: the files are links to blobs, as they are there.
  fs::path cache(const fs::path& hub, const std::string& repository, const std::string& revision,
                 bool with_reference) {
    const fs::path root = hub / repository;
    const fs::path snapshot = root / "snapshots" / revision;
    write_model(root / "blobs");
    fs::create_directories(snapshot);
    for (const char* name : {"config.json", "model.safetensors"}) {
      fs::create_symlink(fs::path("../../blobs") / name, snapshot / name);
    }
    if (with_reference) {
      fs::create_directories(root / "refs");
      write_bytes((root / "refs/main").string(), revision);
    }
    return snapshot;
  }
  ResolvedModel resolve(const std::string& model) const {
    return resolve_model(model, [this](const char* name) {
      const auto it = variables_.find(name);
      return it == variables_.end() ? nullptr : it->second.c_str();
    });
  }

  TemporaryFolder folder_;
  std::map<std::string, std::string> variables_;
};

TEST_F(HubCache, FindsTheSnapshotOfMain) {
  const fs::path hub = folder_ / "home/.cache/huggingface/hub";
  cache(hub, "models--org--some.name", "0000", false);
  const fs::path main = cache(hub, "models--org--some.name", "1111", true);
  const ResolvedModel model = resolve("org/some.name");
  EXPECT_EQ(model.kind, ResolvedModel::Kind::checkpoint);
  EXPECT_EQ(model.name, "org/some.name");
  EXPECT_EQ(model.folder, main.string());
  EXPECT_EQ(model.config_file, (main / "config.json").string());
  EXPECT_EQ(model.weights, std::vector<std::string>{(main / "model.safetensors").string()});
  EXPECT_TRUE(model.index_file.empty());
}

TEST_F(HubCache, ObeysTheVariablesInTheirOrder) {
  const std::map<std::string, std::string> roots = {{"HF_HUB_CACHE", "a"},
                                                    {"HUGGINGFACE_HUB_CACHE", "b"},
                                                    {"HF_HOME", "c/hub"},
                                                    {"XDG_CACHE_HOME", "d/huggingface/hub"},
                                                    {"HOME", "e/.cache/huggingface/hub"}};
  const char* const order[] = {"HOME", "XDG_CACHE_HOME", "HF_HOME", "HUGGINGFACE_HUB_CACHE",
                               "HF_HUB_CACHE"};
  char root = 'e';
  for (const char* name : order) {
    SCOPED_TRACE(name);
    variables_[name] = folder_ / std::string(1, root--);
    const fs::path snapshot =
        cache(folder_ / roots.at(name), "models--name", "abc" + std::string(name), true);
    EXPECT_EQ(resolve("name").folder, snapshot.string());
  }
  variables_["HF_HUB_CACHE"] = "";  // set but empty counts as not set
  EXPECT_EQ(resolve("name").folder, folder_ / "b/models--name/snapshots/abcHUGGINGFACE_HUB_CACHE");
}

TEST_F(HubCache, ExpandsTheHomeFolder) {
  variables_["HF_HOME"] = "~/elsewhere";
  const fs::path snapshot = cache(folder_ / "home/elsewhere/hub", "models--name", "abc", true);
  EXPECT_EQ(resolve("name").folder, snapshot.string());
}

TEST_F(HubCache, KnowsBothNamesOfModelsThatMoved) {
  variables_["HF_HUB_CACHE"] = folder_ / "hub";
  const fs::path late = cache(folder_ / "hub", "models--openai-community--gpt2", "abc", true);
  EXPECT_EQ(resolve("gpt2").folder, late.string());
  const fs::path early = cache(folder_ / "hub", "models--gpt2", "def", true);
  EXPECT_EQ(resolve("gpt2").folder, early.string());
  EXPECT_EQ(resolve("openai-community/gpt2").folder, late.string());
}

TEST_F(HubCache, TakesTheOnlySnapshotWithoutAReference) {
  variables_["HF_HUB_CACHE"] = folder_ / "hub";
  const fs::path only = cache(folder_ / "hub", "models--name", "abc", false);
  EXPECT_EQ(resolve("name").folder, only.string());
  cache(folder_ / "hub", "models--name", "def", false);
  expect_error({"models--name/snapshots", "abc, def"}, [&] { resolve("name"); });
}

TEST_F(HubCache, SaysWhereItLookedAndHowToFetch) {
  variables_["HF_HUB_CACHE"] = folder_ / "hub";
  expect_error({"org/na_me", folder_ / "hub/models--org--na_me", "hf download org/na_me"},
               [&] { resolve("org/na_me"); });
  expect_error({folder_ / "hub/models--gpt2", folder_ / "hub/models--openai-community--gpt2",
                "hf download gpt2"},
               [&] { resolve("gpt2"); });
}

TEST_F(HubCache, RefusesACacheThatIsIncomplete) {
  variables_["HF_HUB_CACHE"] = folder_ / "hub";
  const fs::path root = folder_ / "hub/models--name";
  fs::create_directories(root / "refs");
  expect_error({root.string(), "neither", "hf download name"}, [&] { resolve("name"); });
  write_bytes((root / "refs/main").string(), "abc\n");
  expect_error({"refs/main", "\"abc\"", "hf download name"}, [&] { resolve("name"); });
  fs::create_directories(root / "snapshots/abc");
  expect_error({"snapshots/abc", "empty", "hf download name"}, [&] { resolve("name"); });
  write_bytes((root / "snapshots/abc/config.json").string(), "{}");
  expect_error({"snapshots/abc", "model.safetensors", "config.json", "hf download name"},
               [&] { resolve("name"); });
  // A link whose blob never arrived.
  fs::create_symlink("../../blobs/none", root / "snapshots/abc/model.safetensors");
  expect_error({"snapshots/abc", "abc/model.safetensors, of a download that did not finish",
                "hf download name"},
               [&] { resolve("name"); });
  fs::remove(root / "snapshots/abc/model.safetensors");
  fs::create_directories(root / "blobs");
  write_bytes((root / "blobs/0a1b.incomplete").string(), "");
  expect_error({"0a1b.incomplete, of a download that did not finish", "hf download name"},
               [&] { resolve("name"); });
  // A model that is there does not mind what else was not.
  write_model(root / "snapshots/abc");
  EXPECT_EQ(resolve("name").weights.size(), 1u);
  for (const char* reference : {"", "../abc", "..", "a/b"}) {
    write_bytes((root / "refs/main").string(), reference);
    expect_error({"refs/main", "a revision"}, [&] { resolve("name"); });
  }
}

TEST(HubCacheEnvironment, IsTheProcessEnvironment) {
  const TemporaryFolder folder("hub-env");
  write_model(folder / "models--headgauge-test--name/snapshots/abc");
  ASSERT_EQ(::setenv("HF_HUB_CACHE", folder.path().c_str(), 1), 0);
  EXPECT_EQ(resolve_model("headgauge-test/name").folder,
            folder / "models--headgauge-test--name/snapshots/abc");
  ::unsetenv("HF_HUB_CACHE");
}

TEST(ResolveFolder, TakesPathsBeforeNames) {
  const TemporaryFolder folder("resolve-folder");
  write_model(folder / "org/name");
  const fs::path before = fs::current_path();
  fs::current_path(folder.path());
  EXPECT_EQ(resolve_model("org/name").folder, "org/name");
  EXPECT_EQ(resolve_model("org/name/model.safetensors").config_file, "org/name/config.json");
  fs::current_path(folder / "org/name");
  EXPECT_EQ(resolve_model("model.safetensors").config_file, "./config.json");
  fs::current_path(before);
}

TEST(ResolveFolder, SaysWhatIsMissing) {
  const TemporaryFolder folder("resolve-missing");
  expect_error({folder.path(), "empty folder"}, [&] { resolve_model(folder.path()); });
  write_bytes(folder / "notes.txt", "");
  expect_error({folder.path(), "config.json", "notes.txt"}, [&] { resolve_model(folder.path()); });
  write_bytes(folder / "results.json", "{}");
  expect_error({folder.path(), "config.json", "the model that was measured"},
               [&] { resolve_model(folder.path()); });
  write_bytes(folder / "config.json", "{}");
  expect_error({folder.path(), "model.safetensors", "notes.txt"},
               [&] { resolve_model(folder.path()); });
  write_bytes(folder / "weights.safetensors", "");
  expect_error({folder.path(), "weights.safetensors", "name it"},
               [&] { resolve_model(folder.path()); });
  write_bytes(folder / "pytorch_model.bin", "");
  expect_error(ErrorKind::unsupported, {folder.path(), "pytorch_model.bin", "safetensors"},
               [&] { resolve_model(folder.path()); });
}

TEST(ResolveFolder, SaysThatADownloadDidNotFinish) {
  const TemporaryFolder folder("resolve-unfinished");
  write_bytes(folder / "config.json", "{}");
  fs::create_directories(folder / ".cache/huggingface/download");
  write_bytes(folder / ".cache/huggingface/download/model.safetensors.0a.incomplete", "");
  expect_error({folder.path(), "model.safetensors.0a.incomplete, of a download that did not finish",
                "fetch them again"},
               [&] { resolve_model(folder.path()); });
}

TEST(ResolveFolder, AsksForTheIndexOfShards) {
  const TemporaryFolder folder("resolve-shards");
  write_bytes(folder / "config.json", "{}");
  for (const char* shard :
       {"model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"}) {
    write_safetensors(folder / shard, {});
  }
  expect_error({folder.path(), "model-00001-of-00002", "fetch the index"},
               [&] { resolve_model(folder.path()); });
  expect_error({"00002-of-00002", "one of its shards", "name the folder"},
               [&] { resolve_model(folder / "model-00002-of-00002.safetensors"); });
  fs::create_directories(folder / "parts");
  for (const auto& [shard, advice] :
       {std::pair("model-00002-of-00002.safetensors", "name the folder of its index, model.safe"),
        std::pair("two.safetensors", "if it is a shard, name the folder of its index")}) {
    write_safetensors(folder / "parts/" + shard, {});
    expect_error({shard, advice}, [&] { resolve_model(folder / "parts/" + shard); });
  }
}

TEST(ResolveFolder, RefusesAdapters) {
  const TemporaryFolder folder("resolve-adapter");
  write_bytes(folder / "adapter_config.json", "{}");
  write_safetensors(folder / "adapter_model.safetensors", {});
  const auto refused = [&](const std::string& model, const std::string& named) {
    expect_error(ErrorKind::unsupported, {named, "an adapter", "merge_and_unload()"},
                 [&] { resolve_model(model); });
  };
  refused(folder.path(), folder / "adapter_config.json");
  refused(folder / "adapter_model.safetensors", folder / "adapter_model.safetensors");
  // An adapter beside its model: transformers would run both.
  write_model(folder.path());
  refused(folder.path(), folder / "adapter_config.json");
  refused(folder / "adapter_model.safetensors", folder / "adapter_model.safetensors");
  refused(folder / "model.safetensors", folder / "adapter_config.json");
}

TEST(ResolveFolder, TakesTheOneGgufFileWhereThereAreNoSafetensors) {
  const TemporaryFolder folder("resolve-gguf");
  write_bytes(folder / "config.json", "{}");  // which the file does not need
  write_bytes(folder / "a.gguf", "");
  for (const std::string& name : {folder.path(), folder / "a.gguf"}) {
    const ResolvedModel model = resolve_model(name);
    EXPECT_TRUE(model.gguf);
    EXPECT_EQ(model.name, name);
    EXPECT_EQ(model.folder, folder.path());
    EXPECT_EQ(model.weights, std::vector<std::string>{folder / "a.gguf"});
    EXPECT_EQ(model.tokenizer(), folder / "a.gguf");
    EXPECT_EQ(model.config_file, "");
  }
  write_bytes(folder / "b.gguf", "");
  expect_error({folder.path(), "one .gguf file", "a.gguf, b.gguf", "name"},
               [&] { resolve_model(folder.path()); });
  write_bytes(folder / "model.safetensors", "");
  EXPECT_FALSE(resolve_model(folder.path()).gguf);
  EXPECT_EQ(resolve_model(folder.path()).tokenizer(), folder.path());
}

TEST(ResolveFolder, RefusesPathsThatLeadNowhere) {
  const auto refused = [](const std::string& model, const std::vector<std::string>& parts) {
    SCOPED_TRACE(model);
    expect_error(parts, [&] { resolve_model(model); });
  };
  refused("", {"MODEL", "nothing"});
  refused("/no/such/folder", {"/no/such/folder", "no such file"});
  refused("./folder", {"./folder", "no such file"});
  refused("../name", {"../name"});
  refused("a/b/c", {"a/b/c"});
  refused("org/na--me", {"org/na--me"});
  refused("/dev/null", {"/dev/null", "device"});
}

TEST(ResolveFile, KnowsADumpByItsMetadata) {
  const TemporaryFolder folder("resolve-dump");
  write_safetensors(folder / "a.safetensors", {}, {{"format", "headgauge.dump/1"}});
  const ResolvedModel model = resolve_model(folder / "a.safetensors");
  EXPECT_EQ(model.kind, ResolvedModel::Kind::dump);
  EXPECT_EQ(model.weights, std::vector<std::string>{folder / "a.safetensors"});
  EXPECT_EQ(model.config_file, "");
  expect_error(ErrorKind::usage, {"a.safetensors", "dump"}, [&] { Checkpoint{model}; });
  write_bytes(folder / "text", "this is no tensor file");
  expect_error({folder / "text", "safetensors"}, [&] { resolve_model(folder / "text"); });
}

}  // namespace
}  // namespace headgauge
