#include "plan/documents.hpp"

#include <fmt/format.h>

#include <set>

namespace headgauge {

Index common_length(const std::vector<HeadSource*>& sources, const std::string& who, Index least) {
  std::set<Index> lengths;
  for (const HeadSource* source : sources) {
    const auto& documents = source->info().documents;
    if (documents.empty()) {
      throw UsageError(fault(who, "documents in every set of texts", "a set without documents",
                             "give more text"));
    }
    lengths.insert(documents.begin(), documents.end());
  }
  if (lengths.size() == 1 && *lengths.begin() >= least) return *lengths.begin();
  throw BadInputError(
      fault(who, fmt::format("documents of the same number of tokens, at least {}", least),
            fmt::format("{} to {} tokens", *lengths.begin(), *lengths.rbegin()),
            "cut them to one length"));
}

}  // namespace headgauge
