// Rotary positions (Su et al. 2021) with the scalings for longer contexts, as in Hugging Face's
// modeling_rope_utils (transformers 5.24): position p rotates the pair (x_i, x_{i + d/2}) by the
// angle p f_i.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "headgauge/base.hpp"
#include "headgauge/checkpoint.hpp"

namespace headgauge {

class Rope {
 public:
  // The fields of a config.json that describe a rope.
  struct Fields {
    const char* layer_type = nullptr;  // in rope_parameters; null: these are of all layers
    const char* theta = "rope_theta";
    double otherwise = 10000;  // the theta of a config without one
    bool scales = true;        // rope_scaling is of this rope
  };
  // Reads rope_theta, rope_scaling and rope_parameters of a config.json; `head_dim` is the width of
  // a head and `trained` the number of positions in training. Throws UnsupportedError for a scaling
  // other than default, linear, dynamic, yarn, longrope and llama3.
  Rope(const ConfigReader& config, Index head_dim, Index trained, const Fields& fields);

  // Returns f_i, i < head_dim / 2, for a pass over `length` positions.
  std::vector<double> frequencies(Index length) const;
  // Returns the factor for sines and cosines.
  double attention_factor() const { return attention_factor_; }
  // Describes the positions: "theta 500000, llama3 scaling by 8".
  std::string text() const;
  // Returns the field that transformers 4 reads otherwise; empty if there is none.
  const std::string& followed() const { return followed_; }
  // Returns a caveat for numbers from one pass over `length` positions; empty: none.
  std::string notice(Index length) const;

 private:
  enum class Kind { standard, linear, dynamic, yarn, longrope, llama3 };

  // Reads name_ and returns the field that it came from.
  const char* read_name(const ConfigReader& scaling);
  // Reads name_ and kind_.
  void read_kind(const ConfigReader& scaling);
  // Reads the parameters of the scaling.
  void read_scaling(const ConfigReader& config, const ConfigReader& scaling);
  // Returns the frequencies without scaling.
  std::vector<double> plain(double theta) const;
  // Reads original_.
  void read_original(const ConfigReader& config, const ConfigReader& scaling);
  void read_yarn(const ConfigReader& scaling);
  void read_longrope(const ConfigReader& config, const ConfigReader& scaling);
  void read_llama3(const ConfigReader& scaling);
  // Returns whether the pass uses other frequencies than a short one.
  bool is_long(Index length) const;

  Kind kind_ = Kind::standard;
  std::string name_ = "default";
  std::string followed_;
  Index dimension_ = 0;
  double theta_ = 10000.0;
  double factor_ = 1.0;
  double attention_factor_ = 1.0;
  Index trained_ = 0;          // max_position_embeddings
  Index original_ = 0;         // positions in training before the context was extended
  std::vector<double> short_;  // f_i of passes over up to original_ positions
  std::vector<double> long_;   // longrope: f_i of longer passes
};

// The sines and cosines of positions 0, 1, ..., reused between passes.
class RotaryTable {
 public:
  // Prepares a pass over `length` positions.
  void prepare(const Rope& rope, Index length);
  // Computes out = in (of size head_dim) rotated for `position`; `out` must not be `in`.
  void rotate(std::span<const float> in, Index position, std::span<float> out) const;
  // Turns a gradient by the output of rotate() into that by its input, in place.
  void reverse(Index position, std::span<float> gradient) const;

 private:
  std::vector<double> frequencies_;
  Matrix<float> cosines_;  // positions x head_dim / 2
  Matrix<float> sines_;
};

}  // namespace headgauge
