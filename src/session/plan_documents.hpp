// The documents of a plan: pieces of texts with their replay, and the cases of tasks.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "headgauge/plan.hpp"
#include "session/input.hpp"

namespace headgauge {

// The texts cut into pieces, and the cases dealt out. The replay is part of the pieces.
struct PlanPieces {
  std::vector<Document> search, check, confirm;
  Index replayed = 0;  // tokens at the end of each piece that repeat its first
  std::vector<Document> search_cases, check_cases, confirm_cases;
  std::vector<Document> all_cases;  // of the three, with their controls
  std::vector<std::string> notices;
};

// Throws as Session::plan() does.
PlanPieces cut_for_plan(const Input& input, const PlanRequest& request);

// Opens what cut_for_plan() returned.
class PlanSources {
 public:
  PlanSources(const Input& input, PlanPieces pieces);
  PlanTexts texts() const;

 private:
  using Source = std::unique_ptr<HeadSource>;  // null: no documents
  Index replayed_;
  Source search_, check_, confirm_;
  Source search_cases_, check_cases_, confirm_cases_, all_cases_;
};

}  // namespace headgauge
