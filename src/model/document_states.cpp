#include "model/document_states.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

namespace headgauge {

void DocumentStates::begin_anew() {
  states_.assign(states_.size(), {});
  waiting_.assign(waiting_.size(), {});
  present_ = -1;
  if (file_) file_.emplace();
}

DocumentState& DocumentStates::present(int document) {
  if (file_ && document != present_) {
    if (present_ >= 0) put_away(present_);
    present_ = document;
    take_back(document);
  }
  return states_[static_cast<std::size_t>(document)];
}

std::array<Matrix<float>*, DocumentStates::kMatrices> DocumentStates::matrices(
    DocumentState& state) {
  return {&state.residual, &state.distinct, &state.kept, &state.reference};
}

void DocumentStates::put_away(int document) {
  DocumentState& state = states_[static_cast<std::size_t>(document)];
  auto waiting = waiting_[static_cast<std::size_t>(document)].begin();
  for (Matrix<float>* matrix : matrices(state)) {
    // The texts of the tokens stay the same.
    const bool is_there = matrix == &state.distinct && waiting->room > 0;
    waiting->rows = matrix->rows();
    waiting->cols = matrix->cols();
    const Index size = matrix->rows() * matrix->cols();
    if (size > waiting->room) {
      waiting->place = file_->add(static_cast<std::size_t>(size) * sizeof(float));
      waiting->room = size;
    }
    if (!is_there) file_->write(waiting->place, bytes_of(*matrix));
    *matrix = {};
    ++waiting;
  }
}

void DocumentStates::take_back(int document) {
  DocumentState& state = states_[static_cast<std::size_t>(document)];
  auto waiting = waiting_[static_cast<std::size_t>(document)].begin();
  for (Matrix<float>* matrix : matrices(state)) {
    *matrix = Matrix<float>(waiting->rows, waiting->cols);
    file_->read(waiting->place, bytes_of(*matrix));
    ++waiting;
  }
}

SpillFile::SpillFile() {
  std::error_code none;  // opening the file reports errors
  folder_ = std::filesystem::temp_directory_path(none).string();
  std::string name = folder_ + "/headgauge-XXXXXX";
  descriptor_ = Descriptor(::mkostemp(name.data(), O_CLOEXEC));
  if (!descriptor_.is_open()) fail(errno);
  ::unlink(name.c_str());
}

std::uint64_t SpillFile::add(std::size_t bytes) {
  return std::exchange(end_, end_ + bytes);
}

void SpillFile::write(std::uint64_t place, std::span<const std::byte> bytes) {
  if (const int error = write_all_at(*descriptor_, place, bytes)) fail(error);
}

void SpillFile::read(std::uint64_t place, std::span<std::byte> into) const {
  if (const int error = read_all_at(*descriptor_, place, into)) fail(error);
}

void SpillFile::fail(int error) const {
  throw ResourceError(fault(folder_, "disk space for hidden states",
                            std::generic_category().message(error),
                            "set TMPDIR to a folder with more space, or measure fewer documents"));
}

}  // namespace headgauge
