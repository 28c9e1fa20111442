// Saves the finished part of a long run to a file, from which a later run resumes.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace headgauge {

// A JSON file with the identity of the run (everything that its numbers depend on), what was
// finished, and a checksum. A state that was changed, truncated or belongs to another run is
// refused. Every fault is a BadInputError that says what to delete.
class SavedState {
 public:
  using Json = nlohmann::ordered_json;

  // `schema` is "headgauge.NAME-state/MAJOR". In messages `what` names the state ("the state of a
  // simulation"), and `option` is the option that selects another file. An empty path saves
  // nothing.
  SavedState(std::string path, std::string schema, std::string what, std::string option,
             const Json& identity);

  // Passes the finished part to `take` if the file exists, else returns false. Exceptions of
  // nlohmann::json or std::at() in `take` mean that the file is not a valid state.
  bool load(const std::function<void(const Json&)>& take) const;
  // Returns the text of the file.
  std::string text(const Json& finished) const;
  void save(const Json& finished) const;  // atomically
  bool kept() const { return !path_.empty(); }

 private:
  [[noreturn]] void refuse(const std::string& expected, const std::string& found) const;

  std::string path_, schema_, what_, option_;
  Json identity_;
};

}  // namespace headgauge
