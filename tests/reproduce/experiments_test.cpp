// Several experiments in one file.
#include <gtest/gtest.h>

#include "headgauge/claims.hpp"
#include "reproduce/experiments.hpp"

namespace headgauge {
namespace {

Results made_simulation() {
  Results results;
  results.settings = {{"synthetic", "sphere"}, {"seed", 3}};
  results.notices = {"a word"};
  results.timings = {.total = 1.5};
  results.set_coord("scale", std::vector<double>{1, 2});
  results.set_coord("tokens", std::vector<double>{50, 60, 70});
  results.set_coord("radius", std::vector<double>{1});
  LabelledArray& error = results.add_metric("error_mean", {"scale", "tokens"}, "1");
  error.values = {1, 2, 3, 4, 5, 6};
  error.standard_error = {.1, .2, .3, .4, .5, .6};
  error.rows.assign(6, 20);
  results.add_metric("horizon", {"scale"}, "1").values = {7, 8};
  return results;
}

TEST(AddExperiment, PrefixesWhatASimulationHas) {
  Results whole;
  add_experiment(made_simulation(), "sphere", whole);
  add_experiment(made_simulation(), "gaussian", whole);
  EXPECT_EQ(whole.at("sphere_error_mean", {1, 0}), 4);
  EXPECT_EQ(whole.metric("gaussian_error_mean")->dim_names(),
            (std::vector<std::string>{"gaussian_scale", "gaussian_tokens"}));
  EXPECT_EQ(whole.metric("gaussian_error_mean")->rows.size(), 6u);
  EXPECT_EQ(whole.metric("gaussian_error_mean")->standard_error[5], .6);
  EXPECT_EQ(whole.coord_numbers("sphere_tokens")[2], 70);
  EXPECT_EQ(whole.coord("sphere_radius"), nullptr) << "of no metric";
  EXPECT_EQ(whole.coord("scale"), nullptr);
  EXPECT_EQ(whole.settings["sphere"]["seed"], 3);
  EXPECT_EQ(whole.notices, (std::vector<std::string>{"sphere: a word", "gaussian: a word"}));
  EXPECT_EQ(whole.timings.others["gaussian_total_s"], 1.5);
  EXPECT_NO_THROW(parse_results(results_text(whole), "whole"));
}

TEST(AddExperiment, OfAModelTakesPaperBAloneAndKeepsLayerAndHead) {
  Results model;
  model.set_coord("layer", std::vector<double>{0});
  model.set_coord("head", std::vector<double>{0, 1});
  model.set_coord("length", std::vector<double>{512});
  model.set_coord("tokens", std::vector<double>{64});
  model.add_metric("entropy_with_sinks", {"layer", "head", "length"}, "nats");
  model.add_metric("cache_bytes_by_layer", {"layer"}, "bytes");
  model.add_metric("rate_mean", {"layer", "head"}, "1").values = {0.5, 0.6};
  model.add_metric("error_mean", {"layer", "head", "tokens"}, "1").values = {1, 2};
  Results whole;
  add_experiment(model, "model", whole);
  ASSERT_EQ(whole.metrics.size(), 2u);
  EXPECT_EQ(whole.at("model_rate_mean", {0, 1}), 0.6);
  EXPECT_EQ(whole.metric("model_error_mean")->dim_names(),
            (std::vector<std::string>{"layer", "head", "model_tokens"}));
  EXPECT_EQ(whole.coord("length"), nullptr);
}

}  // namespace
}  // namespace headgauge
