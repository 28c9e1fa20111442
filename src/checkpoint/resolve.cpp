// Resolves a MODEL argument: a folder, a file, or a name in the Hugging Face cache, whose layout is
// HUB/models--ORG--NAME/refs/main (a revision) and HUB/models--ORG--NAME/snapshots/REVISION/.
#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <optional>

#include "base/file.hpp"
#include "base/strict_json.hpp"

#include "checkpoint/gguf.hpp"
#include "checkpoint/shard_index.hpp"
#include "headgauge/checkpoint.hpp"

namespace headgauge {
namespace {

namespace fs = std::filesystem;

// Errors of the file system (such as a folder without permission) count as "not there"; opening the
// file reports the details.
bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}
bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

std::vector<fs::path> entries(const fs::path& folder) {
  std::vector<fs::path> paths;
  std::error_code error;
  fs::directory_iterator it(folder, error);
  for (; !error && it != fs::directory_iterator(); it.increment(error)) {
    paths.push_back(it->path());
  }
  refuse_if(error != std::error_code(), folder.string(), "a folder that can be read",
            error.message(), "check its permissions");
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::string list_names(const std::vector<fs::path>& paths) {
  constexpr std::size_t kMost = 5;
  std::string list;
  for (std::size_t i = 0; i < std::min(paths.size(), kMost); ++i) {
    list += (i == 0 ? "" : ", ") + paths[i].filename().string();
  }
  if (paths.size() > kMost) list += " and " + std::to_string(paths.size() - kMost) + " more";
  return list;
}

// File name endings of weight formats that headgauge does not read.
struct OtherFormat {
  const char* suffix;
  const char* what;
};
constexpr OtherFormat kOtherFormats[] = {
    {".bin", "a PyTorch file"},  {".pt", "a PyTorch file"},    {".pth", "a PyTorch file"},
    {".ckpt", "a PyTorch file"}, {".h5", "a TensorFlow file"}, {".msgpack", "a Flax file"},
    {".onnx", "an ONNX file"},   {".npz", "arrays of NumPy"},
};

const OtherFormat* other_format(const fs::path& path) {
  const std::string name = path.filename().string();
  const auto found = std::ranges::find_if(
      kOtherFormats, [&](const OtherFormat& format) { return name.ends_with(format.suffix); });
  return found == std::end(kOtherFormats) ? nullptr : found;
}

// `where`: what the user named, the file or its folder.
[[noreturn]] void refuse_format(const fs::path& where, const fs::path& file,
                                const OtherFormat& format) {
  const std::string name = file.filename().string();
  const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  throw UnsupportedError(fault(
      where.string(), "model.safetensors", fmt::format("{}, {}", name, format.what),
      fmt::format(
          "save it as safetensors, in Python with transformers: "
          "AutoModelForCausalLM.from_pretrained({}).save_pretrained(\"DIR\"), and its tokenizer",
          in_quotes(folder.string()))));
}

// Throws if a folder without the files of a model has weights in another format.
void refuse_other_weights(const fs::path& folder, const std::vector<fs::path>& paths) {
  for (const fs::path& path : paths) {
    // training_args.bin and similar files are not weights.
    const bool weights =
        path.extension() != ".bin" || path.filename().string().find("model") != std::string::npos;
    const OtherFormat* const format = other_format(path);
    if (format != nullptr && weights) refuse_format(folder, path, *format);
  }
}

bool is_shard(const fs::path& path) {
  const std::string name = path.filename().string();
  return name.starts_with("model-") && name.find("-of-") != name.npos;
}

// Reports why a folder without model.safetensors cannot be read, and what to do.
[[noreturn]] void refuse_weights(const fs::path& folder, const std::string& advice) {
  const auto paths = entries(folder);
  refuse_other_weights(folder, paths);
  const auto other = std::find_if(paths.begin(), paths.end(), [](const fs::path& path) {
    return path.extension() == ".safetensors" && is_there(path);  // not a dangling link
  });
  throw BadInputError(
      fault(folder.string(), "model.safetensors or model.safetensors.index.json", list_names(paths),
            other == paths.end() ? advice
            : is_shard(*other)   ? "fetch the index, too: it says which shards there are"
                                 : "if " + other->filename().string() + " is meant, name it"));
}

ResolvedModel gguf_file(const std::string& name, const fs::path& file) {
  ResolvedModel model;
  model.name = name;
  const fs::path folder = file.parent_path();
  model.folder = folder.empty() ? "." : folder.string();
  model.weights = {file.string()};
  model.gguf = true;
  return model;
}

// Returns the GGUF file of a folder without safetensors; empty if there is none. Several are an
// error.
fs::path only_gguf(const fs::path& folder, const std::vector<fs::path>& paths) {
  std::vector<fs::path> found;
  std::ranges::copy_if(paths, std::back_inserter(found), [](const fs::path& path) {
    return path.extension() == ".gguf" && is_there(path);
  });
  refuse_if(found.size() > 1, folder.string(), "one .gguf file", list_names(found),
            "name the one you mean");
  return found.empty() ? fs::path() : found.front();
}

[[noreturn]] void refuse_adapter(const fs::path& where) {
  throw UnsupportedError(
      fault(where.string(), "a whole model", "an adapter, which changes a model",
            "merge them, in Python with peft: PeftModel.from_pretrained(MODEL, \"ADAPTER\")"
            ".merge_and_unload().save_pretrained(\"DIR\"), and give DIR"));
}

// Returns a file that shows that a download into a folder did not finish; empty if there is none.
fs::path unfinished(const fs::path& folder) {
  for (const fs::path& place :
       {folder, folder / "../../blobs", folder / ".cache/huggingface/download"}) {
    std::error_code unreadable;  // such a place shows nothing
    for (const auto& entry : fs::directory_iterator(place, unreadable)) {
      const fs::path& path = entry.path();
      const bool dangles = entry.is_symlink(unreadable) && !is_there(path);
      if (dangles || path.extension() == ".incomplete") return path;
    }
  }
  return {};
}

ResolvedModel resolve_files(const std::string& name, const fs::path& folder,
                            const std::string& advice) {
  const auto paths = entries(folder);
  if (is_there(folder / "adapter_config.json")) refuse_adapter(folder / "adapter_config.json");
  refuse_if(paths.empty(), folder.string(), "config.json and model.safetensors", "an empty folder",
            advice);
  const fs::path single = folder / "model.safetensors";
  const fs::path index = folder / "model.safetensors.index.json";
  if (!is_there(single) && !is_there(index)) {
    if (const fs::path gguf = only_gguf(folder, paths); !gguf.empty()) return gguf_file(name, gguf);
  }
  ResolvedModel model;
  model.name = name;
  model.folder = folder.string();
  model.config_file = (folder / "config.json").string();
  if (!is_there(model.config_file)) {
    refuse_other_weights(folder, paths);
    const bool results = is_there(folder / "results.json");
    throw BadInputError(fault(folder.string(), "config.json", list_names(paths),
                              results ? "name the model that was measured" : advice));
  }
  if (is_there(single)) {
    model.weights = {single.string()};
    return model;
  }
  if (!is_there(index)) refuse_weights(folder, advice);

  model.index_file = index.string();
  const ShardIndex shards = read_shard_index(model.index_file);
  for (const std::string& file : shards.files) {
    model.weights.push_back((folder / file).string());
    if (is_there(model.weights.back())) continue;
    const auto tensor = std::find_if(shards.file_of.begin(), shards.file_of.end(),
                                     [&](const auto& entry) { return entry.second == file; });
    throw BadInputError(
        fault(model.index_file,
              "the shard " + in_quotes(file) + " with tensor " + in_quotes(tensor->first),
              "no such file", advice));
  }
  return model;
}

ResolvedModel resolve_folder(const std::string& name, const fs::path& folder,
                             const std::string& advice) {
  try {
    return resolve_files(name, folder, advice);
  } catch (const BadInputError&) {
    const fs::path found = unfinished(folder);
    if (found.empty()) throw;
    throw BadInputError(fault(folder.string(), "a whole model",
                              found.string() + ", of a download that did not finish", advice));
  }
}

ResolvedModel resolve_file(const std::string& name) {
  if (is_gguf(name)) return gguf_file(name, name);
  if (fs::path(name).stem() == "adapter_model") refuse_adapter(name);
  const fs::path adapter = fs::path(name).replace_filename("adapter_config.json");
  if (is_there(adapter)) refuse_adapter(adapter);
  if (const OtherFormat* const format = other_format(name)) refuse_format(name, name, *format);
  ResolvedModel model;
  model.name = name;
  model.weights = {name};
  const fs::path folder = fs::path(name).parent_path();
  model.folder = folder.empty() ? "." : folder.string();
  if (DumpFile::recognises(Safetensors::open(name))) {
    model.kind = ResolvedModel::Kind::dump;
    return model;
  }
  const fs::path index = fs::path(model.folder) / "model.safetensors.index.json";
  const auto shards =
      is_there(index) ? read_shard_index(index.string()).files : std::vector<std::string>{};
  refuse_if(is_shard(name) || std::ranges::count(shards, fs::path(name).filename().string()) > 0,
            name, "a whole model", "one of its shards",
            is_there(index) ? "name the folder " + model.folder
                            : "name the folder of its index, model.safetensors.index.json");
  model.config_file = (fs::path(model.folder) / "config.json").string();
  refuse_if(!is_there(model.config_file), name,
            "config.json in the folder of the weights, or a dump file's metadata", "neither",
            "put the model's config.json into " + model.folder +
                "; if it is a shard, name the folder of its index");
  return model;
}

// Returns an environment variable if it is set and not empty.
std::optional<std::string> variable(const Environment& environment, const char* name) {
  const char* value = environment(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

std::string home_folder(const Environment& environment) {
  if (const auto home = variable(environment, "HOME")) return *home;
  const passwd* user = ::getpwuid(::getuid());
  return user == nullptr ? "/" : user->pw_dir;
}

// Checks the variables in the same order as huggingface_hub.
fs::path hub_folder(const Environment& environment) {
  const std::string home = home_folder(environment);
  const auto expanded = [&](const std::string& path) {
    const bool of_home = path == "~" || path.starts_with("~/");
    return fs::path(of_home ? home + path.substr(1) : path);
  };
  if (const auto hub = variable(environment, "HF_HUB_CACHE")) return expanded(*hub);
  if (const auto hub = variable(environment, "HUGGINGFACE_HUB_CACHE")) return expanded(*hub);
  if (const auto hf = variable(environment, "HF_HOME")) return expanded(*hf) / "hub";
  const auto cache = variable(environment, "XDG_CACHE_HOME");
  return expanded(cache ? *cache : home + "/.cache") / "huggingface" / "hub";
}

// Returns whether the text is NAME or ORG/NAME, as the hub allows.
bool is_model_name(std::string_view text) {
  const auto part = [](std::string_view s) {
    return !s.empty() && s.front() != '.' && s.find("--") == s.npos && s.find("..") == s.npos &&
           std::all_of(s.begin(), s.end(), [](char c) {
             return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                    c == '-' || c == '_' || c == '.';
           });
  };
  const auto slash = text.find('/');
  if (slash == text.npos) return part(text);
  return part(text.substr(0, slash)) && part(text.substr(slash + 1));
}

// Returns the names under which a model may be cached: models of the early hub have since moved to
// an organisation, and both names work for downloads.
std::vector<std::string> spellings(const std::string& name) {
  constexpr std::pair<const char*, const char*> kMoved[] = {
      {"gpt2", "openai-community/gpt2"},
      {"gpt2-medium", "openai-community/gpt2-medium"},
      {"gpt2-large", "openai-community/gpt2-large"},
      {"gpt2-xl", "openai-community/gpt2-xl"},
      {"distilgpt2", "distilbert/distilgpt2"}};
  for (const auto& [early, late] : kMoved) {
    if (name == early) return {early, late};
    if (name == late) return {late, early};
  }
  return {name};
}

// Returns models--ORG--NAME.
std::string cache_folder_name(const std::string& name) {
  const auto slash = name.find('/');
  if (slash == name.npos) return "models--" + name;
  return "models--" + name.substr(0, slash) + "--" + name.substr(slash + 1);
}

// Returns the snapshot that the branch main of a cached repository refers to.
fs::path snapshot_folder(const fs::path& repository, const std::string& advice) {
  const fs::path reference = repository / "refs" / "main";
  const fs::path snapshots = repository / "snapshots";
  if (is_there(reference)) {
    std::string revision = read_file(reference.string());
    revision.erase(revision.find_last_not_of(" \t\r\n") + 1);
    const bool plain = !revision.empty() && revision.find_first_of({"/\0", 2}) == revision.npos &&
                       revision != "." && revision != "..";
    refuse_if(!plain, reference.string(), "a revision", in_quotes(revision), advice);
    if (is_folder(snapshots / revision)) return snapshots / revision;
    throw BadInputError(fault(reference.string(), "a snapshot of revision " + in_quotes(revision),
                              "none in " + snapshots.string(), advice));
  }
  // A model downloaded by revision instead of branch has no reference.
  const auto found = is_folder(snapshots) ? entries(snapshots) : std::vector<fs::path>{};
  if (found.size() == 1) return found.front();
  refuse_if(found.empty(), repository.string(), "refs/main or a snapshot", "neither", advice);
  throw BadInputError(fault(snapshots.string(), "one snapshot, there being no refs/main",
                            list_names(found), "give the folder of the one you mean"));
}

ResolvedModel resolve_name(const std::string& name, const Environment& environment) {
  const fs::path hub = hub_folder(environment);
  const std::string advice =
      "fetch it with `hf download " + name + "` (older: `huggingface-cli download " + name + "`)";
  std::string looked;
  for (const std::string& spelling : spellings(name)) {
    const fs::path repository = hub / cache_folder_name(spelling);
    if (is_folder(repository)) {
      return resolve_folder(name, snapshot_folder(repository, advice), advice);
    }
    looked += (looked.empty() ? "no " : " and no ") + repository.string();
  }
  throw BadInputError(fault(name, "a folder, a file or a model in the Hugging Face cache",
                            "nothing of that name here and " + looked, advice));
}

}  // namespace

ResolvedModel resolve_model(const std::string& model) {
  return resolve_model(model, [](const char* name) { return std::getenv(name); });
}

ResolvedModel resolve_model(const std::string& model, const Environment& environment) {
  if (is_folder(model))
    return resolve_folder(model, model, "copy the model's files there, or fetch them again");
  if (is_there(model)) return resolve_file(model);
  if (is_model_name(model)) return resolve_name(model, environment);
  throw BadInputError(fault(model.empty() ? "MODEL" : model,
                            "a folder, a .safetensors or .gguf file, or the name of a model",
                            model.empty() ? "nothing" : "no such file or folder",
                            "check the path"));
}

}  // namespace headgauge
