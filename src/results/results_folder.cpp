#include "headgauge/results_folder.hpp"

#include "results/header.hpp"

namespace headgauge {

bool has_heads(const Results& results) {
  return results.coord("head") != nullptr && results.coord("length") != nullptr;
}

void add_results(const Results& results, AtomicFiles& files) {
  put_results(results, files.add(kResultsFile));
  if (has_heads(results)) {
    files.add(kHeadsFile).write(heads_csv_text(results));
  } else {
    files.remove(kHeadsFile);
  }
}

void write_results_folder(const Results& results, const std::string& folder) {
  AtomicFiles files(folder);
  add_results(results, files);
  files.commit();
}

}  // namespace headgauge
