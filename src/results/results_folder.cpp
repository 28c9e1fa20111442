#include "headgauge/results_folder.hpp"

#include "base/file.hpp"
#include "results/header.hpp"

namespace headgauge {

namespace {

constexpr std::string_view kHeadsCsvBegin = "layer,head,";

}  // namespace

bool has_heads(const Results& results) {
  return results.coord("head") != nullptr && results.coord("length") != nullptr;
}

void add_results(const Results& results, AtomicFiles& files) {
  put_results(results, files.add(kResultsFile));
  if (has_heads(results)) {
    files.add(kHeadsFile).write(heads_csv_text(results));
  } else if (beginning_of(files.path(kHeadsFile), kHeadsCsvBegin.size()) == kHeadsCsvBegin) {
    files.remove(kHeadsFile);  // a table of earlier results
  }
}

void write_results_folder(const Results& results, const std::string& folder) {
  AtomicFiles files(folder);
  add_results(results, files);
  files.commit();
}

}  // namespace headgauge
