// merge(): repeats the run of the shards with their parts.
#include <utility>

#include "headgauge/session.hpp"

namespace headgauge {
namespace {

using Json = nlohmann::ordered_json;

Texts texts_of(const Json& recorded) {
  Texts texts;
  for (const Json& text : recorded) {
    texts.push_back({.name = text.at(0).get<std::string>(), .is_ids = text.at(1).get<bool>()});
  }
  return texts;
}

// Restores the request that a shard recorded. Its other texts are of the same kind as the measured
// ones.
template <class Request>
Request request_of(const Json& recorded) {
  Request request;
  const bool are_ids = !recorded.at("texts").empty() && recorded["texts"][0].at(1).get<bool>();
  for (const Option& option : options_of(request)) {
    const auto value = recorded["asked"].find(option.key());
    if (value == recorded["asked"].end() || value->is_null()) continue;
    set_option(option, *value);
    if (Texts* const* const texts = std::get_if<Texts*>(&option.value)) {
      for (Text& text : **texts) text.is_ids = are_ids;
    }
  }
  return request;
}

}  // namespace

Session Session::of_shards(const std::vector<std::string>& folders, Run run) {
  const std::shared_ptr<Journal> shards = Journal::merge(folders);
  const Json& recorded = shards->request();
  Session session(Model(recorded.value("model", "")), texts_of(recorded["texts"]), std::move(run));
  session.merged_ = shards;
  return session;
}

Results Session::merged() {
  const Json& recorded = merged_->request();
  // Earlier versions kept other options than those that were asked for.
  const std::string experiment =
      recorded.contains("asked") ? recorded.value("experiment", "") : "an earlier version";
  if (experiment == "scan") return scan(request_of<ScanRequest>(recorded));
  if (experiment == "compare") return compare(request_of<CompareRequest>(recorded));
  if (experiment == "converge") return converge(request_of<ConvergeRequest>(recorded));
  if (experiment == "validate") return validate(request_of<ValidateRequest>(recorded));
  throw BadInputError(fault("merge", "shards of this version's scan, compare, converge or validate",
                            "some of \"" + experiment + "\"", "run the shards again"));
}

Results merge(const std::vector<std::string>& folders, Run run) {
  return Session::of_shards(folders, std::move(run)).merged();
}

}  // namespace headgauge
