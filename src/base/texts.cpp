#include "headgauge/texts.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <system_error>
#include <utility>

#include "headgauge/files.hpp"

namespace headgauge {
namespace {

Texts files_of(const std::vector<std::string>& paths, bool are_ids) {
  Texts texts;
  for (const std::string& path : paths) texts.push_back({.name = path, .is_ids = are_ids});
  return texts;
}

}  // namespace

std::string Text::sha256() const {
  if (utf8 != nullptr) return text_sha256(*utf8);
  if (ids != nullptr) return text_sha256(fmt::format("{}", fmt::join(*ids, " ")));
  std::error_code none;  // reading the file says what is wrong with it
  return std::filesystem::is_regular_file(name, none) ? file_sha256(name) : "";
}

Texts text_files(const std::vector<std::string>& paths) {
  return files_of(paths, false);
}

Texts token_files(const std::vector<std::string>& paths) {
  return files_of(paths, true);
}

Text text_of(std::string utf8, std::string name) {
  return {.name = std::move(name), .utf8 = std::make_shared<const std::string>(std::move(utf8))};
}

Text ids_of(std::vector<int> ids, std::string name) {
  return {.name = std::move(name),
          .is_ids = true,
          .ids = std::make_shared<const std::vector<int>>(std::move(ids))};
}

std::vector<std::string> names_of(const Texts& texts) {
  std::vector<std::string> names;
  for (const Text& text : texts) names.push_back(text.name);
  return names;
}

}  // namespace headgauge
