// headgauge validate: finds metrics of a head that predict the change of the loss when the head is
// changed.
#include "headgauge/validate.hpp"

#include <memory>

#include "cli/commands.hpp"
#include "cli/run.hpp"

namespace headgauge::cli {
namespace {

struct ValidateCommand {
  RunOptions run{.output = {.look = {.top = 20}}};
  ValidateRequest request;
};

int run(const ValidateCommand& options) {
  return run_measurement(options.run, {.measure = [&](Session& session) {
                           return session.validate(options.request);
                         }});
}

}  // namespace

void add_validate(CommandNode& app) {
  const auto o = std::make_shared<ValidateCommand>();
  app.add(
      {.name = "validate",
       .about = "Find which metrics predict the change of the loss when a head changes",
       .example = "Example: headgauge validate demo/model --text a.txt b.txt c.txt --out validity",
       .operands = {model_operand(o->run.input)},
       .options = join_options({options_of(o->run.input), options_of(o->request),
                                options_of(o->run.output),
                                adapted_options("ValidateCommand", run_options(o->run, true))}),
       .run = [=](const CommandNode&) { return run(*o); }});
}

}  // namespace headgauge::cli
