// Records where results come from: the program, the model, the texts, and the time of each stage.
// An absent value is not known. Records keep what they cannot hold of a file, such as the keys of a
// later version, in `others`, so that writing a file that was read loses nothing.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "headgauge/base.hpp"

namespace headgauge {

// The program that produced the results.
struct ToolRecord {
  std::string name = {}, version = {};
  std::string simd = {};  // level of instructions used: "AVX3"
  std::optional<int> threads = {};
  nlohmann::ordered_json others = nlohmann::ordered_json::object();
  bool operator==(const ToolRecord&) const = default;
};

struct ModelRecord {
  std::optional<std::string> name = {};  // as given
  std::optional<std::string> family = {};
  std::optional<int> layers = {};  // including those without attention
  std::optional<int> heads = {}, kv_heads = {};
  std::optional<Index> head_dim = {};  // 0 if there are only scores
  std::optional<std::int64_t> parameters = {};
  std::optional<Index> width = {}, vocabulary = {};
  // The longest context, or that of the training if any position is possible.
  std::optional<Index> positions = {}, trained_length = {};
  std::string class_name = {}, dtype = {};  // of a live model
  std::optional<bool> causal = {};          // a model that does not say it is causal
  std::optional<double> scale = {};         // of the scores of a dump
  std::string attention = {};               // of a live model: "self" or "cross"
  std::string rope = {};                    // rotary positions and their scaling
  std::optional<double> score_softcap = {}, logit_softcap = {};
  std::string config_sha256 = {}, weights_sha256 = {};
  nlohmann::ordered_json others = nlohmann::ordered_json::object();
  bool operator==(const ModelRecord&) const = default;
};

// A position, and the number of heads in which it is a sink, averaged over the documents.
struct FoundSink {
  Index position = 0;
  double heads = 0;
  int first_layer = 0, last_layer = 0;
  std::optional<std::string> token = {};  // its text
  bool operator==(const FoundSink&) const = default;
};

// The cases of one task in one task file.
struct TaskRecord {
  std::string task = {};
  std::string name = {};    // of the file
  std::string sha256 = {};  // over the sums of all cases and controls
  Index cases = 0, controls = 0;
  Index shortest = 0, tokens = 0;  // tokens of the shortest case, and of the longest
  bool operator==(const TaskRecord&) const = default;
};

// Lists with one entry for each document on which heads are measured, the tasks, and the sinks of
// all of these documents.
struct TextRecord {
  std::vector<std::string> names = {};
  std::vector<std::optional<std::string>> sha256 = {};
  std::vector<Index> tokens = {};                       // read
  std::vector<std::optional<Index>> tokens_total = {};  // of the whole text
  std::vector<Index> first = {};  // where documents begin in their texts; empty if all at 0
  std::vector<TaskRecord> tasks = {};
  std::optional<std::vector<FoundSink>> sinks = {};  // those of the most heads first
  nlohmann::ordered_json others = nlohmann::ordered_json::object();
  bool operator==(const TextRecord&) const = default;
};

// Seconds. `original` and `scans` are those of compare; `others` has the stages of each experiment
// of reproduce.
struct Timings {
  std::optional<double> forward = {}, measure = {}, sampling = {}, original = {}, scans = {};
  std::optional<double> total = {}, converge = {};
  std::optional<int> losses = {};  // of plan: how many were computed
  nlohmann::ordered_json others = nlohmann::ordered_json::object();
  bool operator==(const Timings&) const = default;
  // Adds the seconds of the stages that both have.
  Timings& operator+=(const Timings& other);
};

// Return the parts of results.json.
nlohmann::ordered_json to_json(const ToolRecord& tool);
nlohmann::ordered_json to_json(const ModelRecord& model);
nlohmann::ordered_json to_json(const TextRecord& text);
nlohmann::ordered_json to_json(const Timings& timings);

// Read them from an object.
ModelRecord model_from_json(const nlohmann::ordered_json& json);
TextRecord text_from_json(const nlohmann::ordered_json& json);

}  // namespace headgauge
