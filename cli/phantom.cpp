// headgauge phantom: writes a checkpoint with constructed heads, for learning and testing.
#include <fmt/format.h>

#include "cli/commands.hpp"
#include "cli/options.hpp"
#include "cli/print.hpp"
#include "headgauge/model.hpp"
#include "headgauge/text.hpp"

namespace headgauge::cli {

void add_phantom(CLI::App& app, Action& action) {
  auto* command = app.add_subcommand(
      "phantom", "Write a model whose heads have known statistics, with the expected values");
  auto folder = std::make_shared<std::string>();
  auto strength = std::make_shared<double>(4.0);
  command->add_option("DIR", *folder, "Folder to write; made if need be")
      ->option_text(" ")
      ->required();
  add_options(*command, {{.member = "PhantomCommand::strength",
                          .value = strength.get(),
                          .form = "S",
                          .group = "",
                          .help = "Logit of the key that a head prefers (default {}); all others "
                                  "have logit 0"}});
  command->footer(
      "Example: headgauge phantom ghost --strength 6\n"
      "         headgauge scan ghost --tokens ghost/tokens.txt --lengths 32,64,128");
  command->callback([=, &action] {
    action = [=] {
      write_phantom(*folder, *strength);
      print(
          "Written: {0}/config.json, model.safetensors, tokens.txt, repeated.txt, expected.json\n"
          "Its heads: 0.0 uniform, 0.1 sink, 0.2 previous token, 0.3 same token, 0.4 one-hot, "
          "0.5 induction\n"
          "Next: headgauge scan {0} --tokens {0}/tokens.txt --lengths 32,64,128\n",
          legible(*folder));
      return 0;
    };
  });
}

}  // namespace headgauge::cli
