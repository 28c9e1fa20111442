#include "model/document_states.hpp"

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

}  // namespace headgauge
