// What plans are judged by besides the loss of text, and whether the model does it at all.
#pragma once

#include <nlohmann/json.hpp>
#include <stop_token>
#include <string>
#include <vector>

#include "headgauge/results.hpp"
#include "plan/joint_change.hpp"

namespace headgauge {

// The tasks as the unchanged model does them.
struct MeasuredTasks {
  Results results;                // coordinates and metrics of answers; empty without tasks
  std::vector<std::string> done;  // the tasks that the model is shown to do
  std::vector<std::string> names() const;
};

// Measures the unchanged model on cases and their controls; none if null. Throws Stopped.
MeasuredTasks measure_tasks(HeadSource* cases, const std::stop_token& stop);

// Returns whether the model is shown to predict the replayed tokens better than the same tokens
// where they stand first (paired t test over all pieces, one-sided, 5 %).
bool replays(const Judged& check, const Judged& confirm);

// Adds what the plan of a budget does to the replay and to the answers of each task to the
// `measured` part of its file.
void add_retrieval_json(const Results& results, Index budget, nlohmann::ordered_json& measured);

}  // namespace headgauge
