#include "model/transformer.hpp"

#include <stdexcept>

namespace headgauge {
namespace {

[[noreturn]] void lacks(const char* what) {
  throw std::logic_error(std::string("a model that predicts no next token has no ") + what);
}

}  // namespace

void Transformer::leave(MatrixView<const float>, MatrixView<float>, ThreadPool&) {
  lacks("output vectors");
}
void Transformer::reverse_finish(MatrixView<const float>, MatrixView<const float>,
                                 MatrixView<float>, MatrixView<float>, ThreadPool&) {
  lacks("reverse pass");
}
void Transformer::reverse_project(MatrixView<const float>, MatrixView<float>, MatrixView<float>,
                                  ThreadPool&) {
  lacks("reverse pass");
}
void Transformer::reverse_leave(MatrixView<const float>, MatrixView<float>, ThreadPool&) {
  lacks("reverse pass");
}

const TensorView& Transformer::output_embedding() const {
  lacks("output embedding");
}

}  // namespace headgauge
