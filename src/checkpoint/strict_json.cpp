#include "checkpoint/strict_json.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

#include "headgauge/base.hpp"

namespace headgauge {
namespace {

using Json = nlohmann::json;

// Builds the document event by event, so that what a plain parse hides (a key that comes twice)
// or survives badly (deep nesting) is seen. The first fault stops the parse.
class Builder : public nlohmann::json_sax<Json> {
 public:
  Json root;
  std::string found;  // the fault, empty while there is none

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
    if (open_.back()->contains(name)) {
      found = "the name " + in_quotes(name) + " twice";
      return false;
    }
    key_ = std::move(name);
    return true;
  }

  bool parse_error(std::size_t position, const std::string&,
                   const nlohmann::detail::exception& error) override {
    // The parser counts the byte it stumbled over, so its offset is one less.
    const std::string what = error.what();
    const bool encoding = what.find("UTF-8") != std::string::npos;
    found = (encoding ? "text that is not UTF-8 at byte " : "a syntax error at byte ") +
            std::to_string(position == 0 ? 0 : position - 1);
    return false;
  }

 private:
  static constexpr std::size_t kMaxDepth = 64;

  Json* place(Json value) {
    if (open_.empty()) {
      root = std::move(value);
      return &root;
    }
    Json& parent = *open_.back();
    if (parent.is_array()) {
      parent.push_back(std::move(value));
      return &parent.back();
    }
    Json& slot = parent[key_];
    slot = std::move(value);
    return &slot;
  }
  bool add(Json value) {
    place(std::move(value));
    return true;
  }
  bool open(Json value) {
    if (open_.size() == kMaxDepth) {
      found = "values nested deeper than " + std::to_string(kMaxDepth);
      return false;
    }
    open_.push_back(place(std::move(value)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  std::vector<Json*> open_;  // objects and lists that have not ended, outermost first
  std::string key_;
};

// The length of the UTF-8 sequence that begins `text`, 0 if there is none.
std::size_t sequence_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  const std::size_t length = first < 0x80   ? 1
                             : first < 0xC2 ? 0
                             : first < 0xE0 ? 2
                             : first < 0xF0 ? 3
                             : first < 0xF5 ? 4
                                            : 0;
  if (length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  return length;
}

}  // namespace

nlohmann::json parse_json_object(std::string_view text, const std::string& where) {
  Builder builder;
  const bool parsed = Json::sax_parse(text.begin(), text.end(), &builder);
  if (!parsed) {
    throw BadInputError(fault(where, "a JSON object", builder.found,
                              "the file is damaged or is "
                              "something else; fetch or write it again"));
  }
  if (!builder.root.is_object()) {
    throw BadInputError(fault(where, "a JSON object", describe(builder.root), "fetch it again"));
  }
  return std::move(builder.root);
}

std::string describe(const nlohmann::json& value) {
  switch (value.type()) {
    case Json::value_t::string:
      return "the text " + in_quotes(value.get_ref<const std::string&>());
    case Json::value_t::array:
      return "a list of " + std::to_string(value.size());
    case Json::value_t::object:
      return "an object";
    default:
      return value.dump();
  }
}

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kLongest = 100;
  std::string out = "\"";
  while (!text.empty() && out.size() < kLongest) {
    const std::size_t length = sequence_length(text);
    const auto first = static_cast<unsigned char>(text[0]);
    if (length == 0 || first < 0x20 || first == 0x7F) {
      char code[8];
      std::snprintf(code, sizeof code, "\\x%02x", first);
      out += code;
      text.remove_prefix(1);
    } else {
      out += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  return out + (text.empty() ? "\"" : "...\"");
}

}  // namespace headgauge
