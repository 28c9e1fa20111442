// Writes the page: the bundle of web/ with the results inserted.
#include <zlib.h>

#include <cstdint>
#include <stdexcept>
#include <string>

#include "base/file.hpp"
#include "headgauge/report.hpp"
#include "report/bundle.hpp"
#include "report/data.hpp"
#include "results/header.hpp"

namespace headgauge {
namespace {

constexpr std::string_view kPlace = "<!--headgauge-data-->";
// Metrics with more cells are packed and compressed; for smaller ones unpacking takes longer than
// reading.
constexpr std::size_t kLarge = 500;
// Examples, and all else but numbers, are compressed if they have more bytes.
constexpr std::size_t kLargeExamples = 8192, kLargeOverview = 65536;
constexpr int kLevel = 6;

std::string gzip(std::string_view text) {
  z_stream stream{};
  // 16 more than the largest window selects a gzip header, which browsers unpack.
  if (deflateInit2(&stream, kLevel, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK) {
    throw ResourceError(fault("report", "memory to compress the results", "none left",
                              "close other programs and try again"));
  }
  std::string packed(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);  // the bound leaves room for the whole output
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t three = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      three = three << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      text += i + k < bytes.size() + 1 ? kDigits[three >> (18 - 6 * k) & 63] : '=';
    }
  }
  return text;
}

// Escapes JSON in an element of a page: "<" opens a tag even inside a string.
std::string in_element(const std::string& json) {
  std::string text;
  text.reserve(json.size());
  for (const char c : json) {
    if (c == '<') {
      text += "\\u003c";
    } else {
      text += c;
    }
  }
  return text;
}

void write_script(AtomicFile& file, std::string_view id, std::string_view type,
                  std::string_view text, std::string_view parts = {}) {
  file.write("<script id=\"");
  file.write(id);
  file.write("\" type=\"");
  file.write(type);
  if (!parts.empty()) {
    file.write("\" data-parts=\"");
    file.write(parts);
  }
  file.write("\">");
  file.write(text);
  file.write("</script>\n");
}

void write_text(AtomicFile& file, std::string_view id, const std::string& text, std::size_t large) {
  if (text.size() > large) {
    write_script(file, id, "application/gzip", base64(gzip(text)));
  } else {
    write_script(file, id, "application/json", in_element(text));
  }
}

}  // namespace

void write_report(const Results& results, const std::string& path) {
  report::require_bundle();
  const std::string_view page = report::page_template();
  const std::size_t place = page.find(kPlace);
  if (place == page.npos) throw std::logic_error("the report page has no place for the results");
  write_atomically(path, [&](AtomicFile& file) {
    file.write(page.substr(0, place));
    const std::vector<report::PageMetric> metrics = report::page_metrics(results);
    write_text(file, "headgauge-data", report::overview_text(results, metrics), kLargeOverview);
    for (const auto& [name, id, metric, difference] : metrics) {
      if (difference) continue;
      if (metric.values.size() > kLarge) {
        const report::PackedNumbers packed = report::packed_numbers(metric);
        write_script(file, id, "application/gzip", base64(gzip(packed.bytes)), packed.parts);
      } else {
        write_script(file, id, "application/json", report::numbers_text(metric));
      }
    }
    if (has_examples(results)) {
      write_text(file, "headgauge-examples", report::examples_text(results), kLargeExamples);
    }
    file.write(page.substr(place + kPlace.size()));
  });
}

}  // namespace headgauge
