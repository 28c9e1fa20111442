// One run of a session: its folder, its journal, and whoever follows it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headgauge/journal.hpp"
#include "headgauge/results_folder.hpp"
#include "headgauge/session.hpp"

namespace headgauge {

// What the numbers of a run depend on, and what merge() needs to carry it out.
struct RunRecord {
  std::string experiment;  // "scan"
  const Model& model;
  const Texts& texts;
  std::vector<Option> options;  // with their resolved values
  bool has_own = false;         // measures, normalizers or patterns of the program's own
};

class Running {
 public:
  // Makes the folder of the run and tries it: one that cannot be written is a ResourceError before
  // the work begins. What was made and stays empty goes again.
  Running(Run run, std::shared_ptr<Journal> merged);

  RunObserver* observer() const { return observer_; }

  // The journal, which the run keeps its parts in; null where none is needed. `described`: the
  // model and the texts. Throws BadInputError where the folder has the journal of another run,
  // UsageError for a shard without a folder, UnsupportedError for one of a model without a
  // name. What is of the program's own has no identity, and so no journal.
  Journal* open_journal(const RunRecord& record, const Results& described);
  // Says where the run continues, and that everything is open. `source` is null where the run opens
  // its texts one by one.
  void start(const HeadSource* source);

  // Carries the work out; where it fails the journal keeps what was finished, unless it would fail
  // again.
  Results measure(const std::function<Results()>& work);
  // Returns whether this process has the results.
  bool has_results() const { return journal_ == nullptr || journal_->has_results(); }
  // Saves what was finished, and ends the journal of a run that is done.
  void save(const Results& results);

 private:
  // The run was stopped, or failed for a reason that may go away: what was finished stays.
  void keep() noexcept;
  // The run would fail again.
  void discard() noexcept;

  Run run_;
  RunObserver* observer_;
  std::shared_ptr<Journal> merged_;
  std::optional<OutFolder> folder_;
  std::unique_ptr<Journal> own_;
  Journal* journal_ = nullptr;
};

// What was finished of partial results, as in "2 layers were finished"; empty: nothing.
std::string finished_part(const Results& results);

// "going on from layer 24 of 30", where the journal has parts of an earlier run. 0 layers or
// documents: not known.
std::string resumption_line(const Journal& journal, Index layers, Index documents);

}  // namespace headgauge
