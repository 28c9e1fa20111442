// One run of a session: its folder, its journal and its observer.
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

// Everything that the numbers of a run depend on, and what merge() needs to repeat it.
struct RunRecord {
  std::string experiment;  // "scan"
  const Model& model;
  const Texts& texts;
  std::vector<Option> options;     // with resolved values, which decide the identity
  std::vector<Option> asked = {};  // as they were given, which merge() repeats
  bool has_own = false;            // measures, normalizers or patterns of the program's own
  bool has_shards = true;          // several processes can share the work
};

class Running {
 public:
  // Creates the folder of the run and tests it, so that an unwritable folder is a ResourceError
  // before the work begins. A new folder that stays empty is removed.
  Running(Run run, std::shared_ptr<Journal> merged);

  RunObserver* observer() const { return observer_; }

  // Names the request whose results will be saved, unless that is done. Throws UsageError if the
  // folder has finished results of another, or is one that the run reads.
  void claim(const RunRecord& record, const Results& described);
  // Claims the folder, and opens the journal in which the run keeps its parts; no_journal() if it
  // has no folder. `described`: results with the model and the texts. Throws BadInputError if the
  // folder has the journal of another run, UsageError for a shard without a folder,
  // UnsupportedError for a shard of a model without a name or of a run without shards. Objects of
  // the program's own have no identity, and so no journal.
  Journal& open_journal(const RunRecord& record, const Results& described);
  // Throws UnsupportedError for a shard of a run that several processes cannot share.
  void require_no_shard(const std::string& experiment) const;
  // Tells the observer where the run resumes, and that everything is open. `source` is null if the
  // run opens its texts one by one.
  void start(const HeadSource* source);

  // Runs `work`. If it throws, the journal keeps what was finished, unless the run would fail
  // again.
  template <class Work>
  auto measure(const Work& work) {
    try {
      return work();
    } catch (const Error& error) {
      may_go_away(error) ? keep() : discard();
      throw;
    } catch (...) {
      keep();
      throw;
    }
  }
  // Returns whether this process has the results.
  bool has_results() const { return journal().has_results(); }
  // Saves what was finished and runs `save_more`, which saves further files; then removes the
  // journal of a complete run.
  void save(
      Results& results, const std::function<void()>& save_more = [] {});

 private:
  // Keeps what was finished: the run was stopped, or failed for a reason that may go away.
  void keep() noexcept;
  static bool may_go_away(const Error& error);
  // Discards the journal, because the run would fail again.
  void discard() noexcept { journal().remove(); }
  Journal& journal() const { return journal_; }

  Run run_;
  RunObserver* observer_;
  std::shared_ptr<Journal> merged_;
  std::optional<OutFolder> folder_;
  std::string request_;  // see Results::request
  std::unique_ptr<Journal> own_;
  JournalRef journal_ = no_journal();
};

// Returns the files and folders that a run of the model reads, with the files of its options.
std::vector<std::string> files_read(const Model& model, const Texts& texts,
                                    const std::vector<Option>& options);

// Returns the digest of what was asked for, for Results::request.
std::string request_digest(const nlohmann::ordered_json& asked);

// Says what partial results contain: "2 layers were finished"; empty: nothing.
std::string finished_part(const Results& results);

// Returns "resuming from layer 24 of 30" if the journal has parts of an earlier run. 0 layers or
// documents: unknown.
std::string resumption_line(const Journal& journal, Index layers, Index documents);

}  // namespace headgauge
