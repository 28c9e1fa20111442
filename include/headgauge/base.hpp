// Errors, row-major matrices and progress, which every other module uses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace headgauge {

// The type of every size and index. It is signed, so that differences can be negative. It can be
// used in [] and as the size of containers and spans without a cast, and std::ssize() returns it. A
// cast in the code therefore has a meaning: the number becomes a float or must fit into fewer bits.
using Index = std::ptrdiff_t;

// A number that does not exist; null in results files.
inline constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();

// The kinds of errors; the values are the exit codes of the process.
enum class ErrorKind {
  usage = 2,        // the call does not make sense
  bad_input = 3,    // a file or value is invalid
  unsupported = 4,  // valid, but headgauge cannot do it
  resource = 5,     // out of memory or disk
  interrupted = 130,
};

// The base class of everything that headgauge throws. what() is one line: where, what was expected,
// what was found, and what to do about it. It is one line without control characters, whatever the
// names and values in the message contain (legible() of text.hpp).
class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, std::string_view message);
  ErrorKind kind() const noexcept { return kind_; }
  int exit_code() const noexcept { return static_cast<int>(kind_); }

 private:
  ErrorKind kind_;
};

struct UsageError : Error {
  explicit UsageError(const std::string& message) : Error(ErrorKind::usage, message) {}
};
struct BadInputError : Error {
  explicit BadInputError(const std::string& message) : Error(ErrorKind::bad_input, message) {}
};
// Thrown if the numbers of one head are unusable: a query sees no key, or scores or weights are not
// finite. Callers that only tried out other weights can catch it and continue.
struct AttentionError : BadInputError {
  using BadInputError::BadInputError;
};
struct UnsupportedError : Error {
  explicit UnsupportedError(const std::string& message) : Error(ErrorKind::unsupported, message) {}
};
struct ResourceError : Error {
  explicit ResourceError(const std::string& message) : Error(ErrorKind::resource, message) {}
};
struct InterruptedError : Error {
  explicit InterruptedError(const std::string& message) : Error(ErrorKind::interrupted, message) {}
};

// Formats a message about bad input; all have the form "WHERE: expected E, found F; ADVICE".
std::string fault(std::string_view where, std::string_view expected, std::string_view found,
                  std::string_view advice);

// Throws an error of this kind with that fault if `wrong`. The arguments are computed in any case.
template <class Kind = BadInputError>
void refuse_if(bool wrong, std::string_view where, std::string_view expected,
               std::string_view found, std::string_view advice) {
  if (wrong) throw Kind(fault(where, expected, found, advice));
}

// A non-owning row-major matrix; `stride` is the distance between rows in elements.
template <class T>
class MatrixView {
 public:
  MatrixView() = default;
  MatrixView(T* data, Index rows, Index cols, Index stride)
      : data_(data), rows_(rows), cols_(cols), stride_(stride) {}
  MatrixView(T* data, Index rows, Index cols) : MatrixView(data, rows, cols, cols) {}
  // Converts a view of mutable data to a view of const data.
  operator MatrixView<const T>() const { return {data_, rows_, cols_, stride_}; }

  T* data() const { return data_; }
  Index rows() const { return rows_; }
  Index cols() const { return cols_; }
  Index stride() const { return stride_; }
  bool empty() const { return rows_ == 0 || cols_ == 0; }
  T& operator()(Index row, Index col) const { return data_[row * stride_ + col]; }
  std::span<T> row(Index r) const { return std::span<T>(data_ + r * stride_, cols_); }
  MatrixView block(Index row, Index rows, Index col, Index cols) const {
    return {data_ + row * stride_ + col, rows, cols, stride_};
  }

 private:
  T* data_ = nullptr;
  Index rows_ = 0;
  Index cols_ = 0;
  Index stride_ = 0;
};

// Allocates memory aligned for the widest SIMD loads (one cache line).
template <class T>
struct AlignedAllocator {
  using value_type = T;
  static constexpr std::align_val_t kAlignment{64};
  AlignedAllocator() = default;
  template <class U>
  AlignedAllocator(const AlignedAllocator<U>&) {}
  T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), kAlignment)); }
  void deallocate(T* p, std::size_t) noexcept { ::operator delete(p, kAlignment); }
  bool operator==(const AlignedAllocator&) const { return true; }
};

template <class T>
using AlignedVector = std::vector<T, AlignedAllocator<T>>;

// An owning row-major matrix, zero-initialised, 64-byte aligned.
template <class T>
class Matrix {
 public:
  Matrix() = default;
  Matrix(Index rows, Index cols) : data_(rows * cols), rows_(rows), cols_(cols) {}
  T* data() { return data_.data(); }
  const T* data() const { return data_.data(); }
  Index rows() const { return rows_; }
  Index cols() const { return cols_; }
  bool empty() const { return data_.empty(); }
  T& operator()(Index r, Index c) { return data_[r * cols_ + c]; }
  const T& operator()(Index r, Index c) const { return data_[r * cols_ + c]; }
  MatrixView<T> view() { return {data_.data(), rows_, cols_}; }
  MatrixView<const T> view() const { return {data_.data(), rows_, cols_}; }
  operator MatrixView<T>() { return view(); }
  operator MatrixView<const T>() const { return view(); }
  std::span<T> row(Index r) { return view().row(r); }
  std::span<const T> row(Index r) const { return view().row(r); }

 private:
  AlignedVector<T> data_;
  Index rows_ = 0;
  Index cols_ = 0;
};

// Receives the progress of a long computation; called from one thread at a time.
class Progress {
 public:
  virtual ~Progress() = default;
  // Reports that `done` of `total` units of the stage `what` are finished.
  virtual void update(std::string_view what, double done, double total) = 0;
};

}  // namespace headgauge
