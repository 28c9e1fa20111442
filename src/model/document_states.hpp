// What a forward pass keeps of its documents from layer to layer: in memory, or all but the present
// one in a temporary file.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/spill_file.hpp"
#include "headgauge/base.hpp"

namespace headgauge {

struct DocumentState {
  bool has_begun = false;
  std::vector<int> tokens;  // of the context; empty: the document is shorter than that
  Matrix<float> residual;   // L x D
  Matrix<float> distinct;   // embeddings of the distinct tokens
  std::vector<std::uint32_t> row_of;
  int next_layer = 0;       // that has not been run over `residual`
  Matrix<float> kept;       // what entered the layer of keep_entering()
  Matrix<float> reference;  // of set_reference()
};

class DocumentStates {
 public:
  explicit DocumentStates(std::size_t documents) : states_(documents), waiting_(documents) {}
  // From now on the matrices of all but one document wait in a file.
  void spill() { file_.emplace(); }
  // All documents as they were made.
  void begin_anew();

  // The state of a document, in memory until another's is asked for.
  DocumentState& present(int document);
  template <class Visit>
  void each_begun(const Visit& visit) {
    for (int document = 0; document < static_cast<int>(states_.size()); ++document) {
      if (states_[static_cast<std::size_t>(document)].has_begun) visit(present(document));
    }
  }

  static std::span<std::byte> bytes_of(Matrix<float>& matrix) {
    return std::as_writable_bytes(
        std::span(matrix.data(), static_cast<std::size_t>(matrix.rows() * matrix.cols())));
  }

 private:
  static constexpr std::size_t kMatrices = 4;
  // A matrix in the file.
  struct Waiting {
    std::uint64_t place = 0;
    Index rows = 0, cols = 0, room = 0;
  };
  static std::array<Matrix<float>*, kMatrices> matrices(DocumentState& state);
  void put_away(int document);
  void take_back(int document);

  std::vector<DocumentState> states_;
  std::vector<std::array<Waiting, kMatrices>> waiting_;
  std::optional<SpillFile> file_;
  int present_ = -1;
};

}  // namespace headgauge
