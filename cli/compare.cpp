// headgauge compare: change the normalizer or the pattern of attention, and measure again.
#include "headgauge/compare.hpp"

#include <memory>

#include "cli/commands.hpp"
#include "cli/run.hpp"

namespace headgauge::cli {
namespace {

struct CompareCommand {
  RunOptions run;
  CompareRequest request;
};

int run(CompareCommand& options) {
  options.run.input.set_kind(options.request.confirm);
  return run_measurement(
      options.run, {.measure = [&](Session& session) { return session.compare(options.request); }});
}

}  // namespace

void add_cache(CommandNode& app) {
  const auto o = std::make_shared<CompareCommand>();
  o->request.windows = {"auto"};
  app.add({.name = "cache",
           .about = "Say what a smaller key-value cache costs, on text and in answers",
           .example = "Example: headgauge cache demo/model --text demo/text.txt --serve 32768",
           .operands = {model_operand(o->run.input)},
           .options = join_options(
               {options_of(o->run.input),
                only(options_of(o->request), {"window", "serve", "layers", "heads", "tasks",
                                              "probe", "cases", "lengths", "threads", "seed"}),
                options_of(o->run.output), run_options(o->run, false)}),
           .run = [=](const CommandNode&) { return run(*o); }});
}

void add_compare(CommandNode& app) {
  const auto o = std::make_shared<CompareCommand>();
  const std::vector<Option> all = options_of(o->request);
  const std::set<std::string> first = {"normalizer", "pattern", "window", "each",
                                       "plan",       "confirm", "layers", "heads"};
  app.add({.name = "compare",
           .about = "Change the normalizer or pattern of attention, and measure again",
           .example = "Example: headgauge compare demo/model --text demo/text.txt --normalizer "
                      "ssmax,sparsemax\n"
                      "         headgauge compare gpt2 --text book.txt --each head --normalizer "
                      "softmax1,ssmax\n"
                      "         headgauge compare gpt2 --text book.txt --pattern sinks:window=256",
           .operands = {model_operand(o->run.input)},
           .options = join_options({only(all, first), options_of(o->run.input), without(all, first),
                                    options_of(o->run.output), run_options(o->run, false)}),
           .run = [=](const CommandNode&) { return run(*o); }});
}

}  // namespace headgauge::cli
