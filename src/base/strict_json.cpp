#include "base/strict_json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/utf8.hpp"
#include "headgauge/base.hpp"

namespace headgauge {
namespace {

constexpr std::size_t kMaxDepth = 64;
constexpr int kOutOfRange = 406;  // nlohmann's code for a number beyond float64

// Kinds of files by their first bytes: what a failed download leaves, other binary files, and
// texts, of which the last is any other.
struct FileKind {
  std::string_view begins;
  const char* what;
  const char* advice;
};
constexpr const char* kDownload =
    "fetch the file itself, with `hf download` or from /resolve/ in place of /blob/";
constexpr FileKind kFileKinds[] = {
    {"version https://git-lfs.github.com/spec/", "a pointer of Git LFS, without the file",
     "fetch the file itself: `git lfs pull` in its folder"},
    {"<!doctype html", "a page of HTML", kDownload},
    {"<!DOCTYPE html", "a page of HTML", kDownload},
    {"<html", "a page of HTML", kDownload},
    {"\x93NUMPY", "an array of NumPy",
     "write a dump file (docs/formats.md), or call headgauge.analyze()"},
    {"PK\x03\x04", "a zip archive, such as weights of torch.save()",
     "unpack it, or save the model by save_pretrained()"},
    {"GGUF", "a GGUF file", "name that file as the model"},
    {"{", "JSON", "name a model (headgauge report and diff read results, --tasks reads cases)"},
    {"", "a text", "name the model, and give the text by --text"},
};
constexpr std::size_t kStandIns = 4, kTexts = 2;

// Builds the document event by event, to detect what a plain parse hides (duplicate keys) or
// handles badly (deep nesting). The first fault stops the parse.
template <class Json>
class Builder : public nlohmann::json_sax<Json> {
 public:
  using typename nlohmann::json_sax<Json>::number_integer_t;
  using typename nlohmann::json_sax<Json>::number_unsigned_t;
  using typename nlohmann::json_sax<Json>::number_float_t;
  using typename nlohmann::json_sax<Json>::string_t;
  using typename nlohmann::json_sax<Json>::binary_t;

  explicit Builder(std::string_view text) : text_(text) {}

  Json root;
  std::string found;  // the fault; empty if there is none

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    if (!open_.back().names.insert(name).second) {
      found = "the name " + in_quotes(name) + " twice";
      return false;
    }
    key_ = std::move(name);
    return true;
  }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& error) override {
    if (position > text_.size()) {
      found = fmt::format("the end of the file at byte {}", text_.size());
      return false;
    }
    const bool encoding = std::string_view(error.what()).find("UTF-8") != std::string_view::npos;
    const std::string_view from = text_.substr(position == 0 ? 0 : position - 1);
    const bool python = from.starts_with("NaN") || from.starts_with("Infinity");
    const char* const what = encoding ? "text that is not UTF-8"
                             : python ? "NaN or Infinity in place of a number or null"
                             : error.id == kOutOfRange ? "a number beyond float64"
                                                       : "a syntax error";
    // The parser counts the byte that it failed on, so the offset is one less.
    found = fmt::format("{} at byte {}", what, position == 0 ? 0 : position - 1);
    return false;
  }

 private:
  // An unfinished object or list, and the names in it.
  struct Open {
    Json* value;
    std::unordered_set<std::string> names;
  };

  Json* place(Json value) {
    if (open_.empty()) {
      root = std::move(value);
      return &root;
    }
    Json& parent = *open_.back().value;
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return &parent.back();
    }
    return &insert(parent.template get_ref<typename Json::object_t&>(), std::move(value));
  }
  Json& insert(nlohmann::json::object_t& object, Json value) {
    return object.emplace(std::move(key_), std::move(value)).first->second;
  }
  // Does not use [], which searches all keys.
  Json& insert(nlohmann::ordered_json::object_t& object, Json value) {
    object.emplace_back(std::move(key_), std::move(value));
    return object.back().second;
  }
  bool add(Json value) {
    place(std::move(value));
    return true;
  }
  bool open(Json value) {
    if (open_.size() == kMaxDepth) {
      found = fmt::format("values nested deeper than {}", kMaxDepth);
      return false;
    }
    open_.push_back({place(std::move(value)), {}});
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  std::string_view text_;
  std::vector<Open> open_;  // outermost first
  std::string key_;
};

template <class Json>
Json parse(std::string_view text, const std::string& where, std::string_view expected,
           std::string_view advice) {
  refuse_stand_in(text, where, expected);
  Builder<Json> builder(text);
  if (Json::sax_parse(text.begin(), text.end(), &builder)) return std::move(builder.root);
  throw BadInputError(fault(where, expected, builder.found, advice));
}

}  // namespace

void refuse_stand_in(std::string_view file, const std::string& where, std::string_view expected,
                     bool is_binary) {
  // The last bytes of a length, with which safetensors begin, are 0.
  const std::string_view first = file.substr(0, 7);
  const bool is_text =
      first.size() == 7 && first.find('\0') == first.npos && find_invalid_utf8(first) >= 4;
  const std::size_t others = std::size(kFileKinds) - (is_text ? 0 : kTexts);
  for (const FileKind& kind : std::span(kFileKinds).first(is_binary ? others : kStandIns)) {
    if (!file.starts_with(kind.begins)) continue;
    throw BadInputError(fault(where, expected, kind.what, kind.advice));
  }
}

template <class Json>
Json parse_json(std::string_view text, const std::string& where, std::string_view advice) {
  return parse<Json>(text, where, "JSON", advice);
}

template <class Json>
Json parse_json_object(std::string_view text, const std::string& where, std::string_view advice) {
  constexpr std::string_view kExpected = "a JSON object";
  Json json = parse<Json>(text, where, kExpected, advice);
  if (json.is_object()) return json;
  throw BadInputError(fault(where, kExpected, describe(json), advice));
}

template nlohmann::json parse_json(std::string_view, const std::string&, std::string_view);
template nlohmann::json parse_json_object(std::string_view, const std::string&, std::string_view);
template nlohmann::ordered_json parse_json(std::string_view, const std::string&, std::string_view);
template nlohmann::ordered_json parse_json_object(std::string_view, const std::string&,
                                                  std::string_view);

std::string json_text(const nlohmann::ordered_json& json, int indent) {
  using Json = nlohmann::ordered_json;
  std::string text = json.dump(indent, ' ', false, Json::error_handler_t::replace);
  // Outside of strings JSON is ASCII, so characters to be escaped are inside strings.
  const bool plain = std::ranges::all_of(text, [](char c) { return c >= 0 && c < 0x7F; });
  if (plain || (indent < 0 && legible(text) == text)) return text;
  return json.dump(indent, ' ', true, Json::error_handler_t::replace);
}

}  // namespace headgauge
