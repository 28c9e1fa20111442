// What a long run has finished, in a file that a later run goes on from.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace headgauge {

// A JSON file with the identity of the run (everything that its numbers depend on), what was
// finished, and a checksum of all that: a state that was changed, cut short or belongs to another
// run is refused, never taken up. Every fault is a BadInputError that says what to delete.
class SavedState {
 public:
  using Json = nlohmann::ordered_json;

  // `schema` is "headgauge.NAME-state/MAJOR"; `what` names it in messages ("the state of a
  // simulation"), `option` what another file is asked for by. No path: nothing is kept.
  SavedState(std::string path, std::string schema, std::string what, std::string option,
             const Json& identity);

  // Hands what was finished to `take`, where there is a file; whatever nlohmann::json or std::at()
  // throws there means that it is no such state. False where there is none.
  bool load(const std::function<void(const Json&)>& take) const;
  // The text of the file.
  std::string text(const Json& finished) const;
  void save(const Json& finished) const;  // atomically
  bool kept() const { return !path_.empty(); }

 private:
  [[noreturn]] void refuse(const std::string& expected, const std::string& found) const;

  std::string path_, schema_, what_, option_;
  Json identity_;
};

}  // namespace headgauge
