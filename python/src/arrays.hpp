// Arrays of numpy that the bindings make.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>

namespace headgauge::python {

namespace nb = nanobind;

// Makes an array of zeros that owns its memory. The caller holds the GIL.
template <class T>
nb::ndarray<nb::numpy, T, nb::ndim<2>> zeros(std::size_t rows, std::size_t columns) {
  auto* const values = new T[rows * columns]();
  const nb::capsule owner(values, [](void* p) noexcept { delete[] static_cast<T*>(p); });
  return nb::ndarray<nb::numpy, T, nb::ndim<2>>(values, {rows, columns}, owner);
}

}  // namespace headgauge::python
