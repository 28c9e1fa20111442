#include "scan/flag_words.hpp"

#include <map>
#include <stdexcept>

#include "results/next_commands.hpp"

namespace headgauge {
namespace {

// Returns the command that tries a replacement for the attention of this head only.
std::string try_on_head(const std::string& change, const std::string& what) {
  return "`headgauge compare MODEL TEXT --heads HEAD " + change + "` says what the loss becomes " +
         what + ".";
}

const std::map<std::string, FlagWords>& all_words() {
  static const std::string averages =
      try_on_head("--normalizer uniform", "if the head weighs all keys alike");
  static const std::string recent_alone = try_on_head(
      "--pattern window:size=64", "if the head sees the 64 most recent keys and nothing else");
  static const std::map<std::string, FlagWords> words{
      {"dispersed",
       {"The head weighs most keys much alike: its output is close to an average of all that it "
        "reads.",
        averages}},
      {"collapsed",
       {"Sinks are left out, so this is a selection: the examples show its keys.",
        try_on_head("--pattern topk:k=1", "if the head keeps its heaviest key alone")}},
      {"dormant", {"It may look at something on another text.", averages}},
      {"saturated",
       {"The keys that the head weighs most stand apart from the others no better than if the same "
        "weights were dealt to the keys at random: a larger weight is no sign of a more distinct "
        "vector.",
        next::kValidate}},
      {"over_selected",
       {"The weight is spread over many keys: a cache of a few of them would lose some of it.",
        next::kConverge}},
      {"sensitive",
       {"A small error of the two largest logits moves much of the weight from one key to the "
        "other.",
        try_on_head("--normalizer softmax:t=2", "if the head's logits are halved")}},
      {"redundant",
       {"Another head of the layer selects much the same keys. What the two read from them may "
        "differ all the same.",
        averages}},
      {"slow",
       {"The head's output settles late: an estimate from part of the tokens errs much.",
        next::kConverge}},
      {"role_sinks",
       {"Much of the weight rests on keys that take it whatever the query asks for. What the head "
        "selects when it does not rest is measured beyond its sinks.",
        try_on_head("--pattern sinks:sinks=4,window=60",
                    "if the head keeps the first 4 and the 60 most recent keys")}},
      {"role_previous",
       {"The head tells each token what stands right before it.",
        try_on_head("--pattern window:size=2", "if the head sees itself and the token before")}},
      {"role_recent",
       {"Much of what it selects stands close by; it may look further, too.", recent_alone}},
      {"role_distant",
       {"Much of what it selects stands further back than a short window reaches.", recent_alone}},
      {"role_duplicate", {"The head looks at earlier copies of the token itself.", recent_alone}},
      {"role_induction",
       {"The head looks at the token that followed an earlier copy of the current one, which lets "
        "a model repeat what it has read.",
        averages}},
  };
  return words;
}

}  // namespace

FlagWords words_of_flag(const std::string& name) {
  const auto found = all_words().find(name);
  if (found == all_words().end()) throw std::logic_error("no words for the flag " + name);
  return found->second;
}

}  // namespace headgauge
