// The state of each document between the layers of a forward pass: in memory, or in a temporary
// file for all except the current document.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/descriptor.hpp"
#include "headgauge/base.hpp"

namespace headgauge {

// Stores bytes in a file without a name in the system's folder for temporary files (TMPDIR). Throws
// ResourceError if there is no space.
class SpillFile {
 public:
  SpillFile();

  // Reserves a place for that many bytes and returns its offset.
  std::uint64_t add(std::size_t bytes);
  void write(std::uint64_t place, std::span<const std::byte> bytes);
  void read(std::uint64_t place, std::span<std::byte> into) const;

 private:
  [[noreturn]] void fail(int error) const;

  std::string folder_;
  Descriptor descriptor_;
  std::uint64_t end_ = 0;
};

struct DocumentState {
  bool has_begun = false;
  std::vector<int> tokens;  // tokens of the context; empty: the document is shorter than the
                            // context
  Matrix<float> residual;   // L x D
  Matrix<float> distinct;   // embeddings of the distinct tokens
  std::vector<std::uint32_t> row_of;
  int next_layer = 0;       // the next layer to run over `residual`
  Matrix<float> kept;       // input of the layer of keep_entering()
  Matrix<float> reference;  // hidden states of set_reference()
};

class DocumentStates {
 public:
  explicit DocumentStates(std::size_t documents) : states_(documents), waiting_(documents) {}
  // Keeps the matrices of all except one document in a file from now on.
  void spill() { file_.emplace(); }
  // Resets all documents to their initial state.
  void begin_anew();

  // Returns the state of a document; it stays in memory until another one is requested.
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
  // A matrix stored in the file.
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
