"""Messages that once named another cause than the one there was."""

import json
import random
import resource
from array import array

from tests.cli.checkpoints import copy_golden, make_gpt2, read_weights, write_weights
from tests.cli.command import BAD_INPUT, RESOURCE, USAGE, CommandTest

MB = 1 << 20


class Messages(CommandTest):
    def test_weights_that_overflow(self) -> None:
        """Queries and keys beyond float32 give scores that are no numbers, which have no sign."""
        model = copy_golden("gpt2/plain", self.folder / "model")
        weights = model / "model.safetensors"
        header, data = read_weights(weights)
        name = next(name for name in header if name.endswith("h.0.attn.c_attn.weight"))
        self.assertEqual(header[name]["dtype"], "F32")
        signs = random.Random(1)
        begin, end = header[name]["data_offsets"]
        numbers = (signs.choice((3e38, -3e38)) for _ in range((end - begin) // 4))
        data[begin:end] = array("f", numbers).tobytes()
        write_weights(weights, header, bytes(data))
        self.ids(64)
        says = ("expected finite attention scores, found NaN at query 0, key 0; ", "overflow float32")
        message = self.refuse(BAD_INPUT, "scan", "model", "--tokens", "ids.txt", says=says)
        self.assertNotIn("nan", message.replace("NaN", ""))

    def test_losses_beyond_float32(self) -> None:
        """The means are null, of no rows, and said; a plan, which needs them, is refused."""
        model = copy_golden("gpt2/plain", self.folder / "model")
        header, data = read_weights(model / "model.safetensors")
        begin, end = header[next(name for name in header if name.endswith("ln_f.weight"))]["data_offsets"]
        data[begin:end] = array("f", [3e38] * ((end - begin) // 4)).tobytes()
        write_weights(model / "model.safetensors", header, bytes(data))
        self.ids(288)
        tokens = ("model", "--tokens", "ids.txt", "--lengths", "64", "--quiet")
        scan = json.loads(self.succeed("scan", *tokens, "--measures", "model", "--json").out)
        self.assertEqual(scan["metrics"]["loss"]["values"], [[None]])
        self.assertEqual(scan["metrics"]["loss"]["rows"], [[0]])
        self.assertIn("loss: 1 of 1 means are undefined, because a row is not finite", scan["notices"])
        validate = ("validate", *tokens, *"--pattern window:size=20 --permutations 99 --resamples 99".split())
        found = json.loads(self.succeed(*validate, "--json").out)
        undefined = "validated_loss_change: 32 of 32 changes are undefined, because a row is not finite"
        self.assertIn(undefined, found["notices"])
        self.assertNotIn("no metric is shown", json.dumps(found["summary"]))
        compare = ("compare", *tokens, "--pattern", "window:size=20", "--measures", "weights", "--json")
        found = json.loads(self.succeed(*compare).out)
        self.assertEqual(found["metrics"]["kl"]["values"], [[None], [None]])
        self.assertEqual(found["metrics"]["kl"]["rows"], [[0], [0]])
        self.write("other.txt", " ".join(str((i * i * i + 3) % 41) for i in range(288)))
        words = "--confirm other.txt --random-plans 1 --out out".split()
        says = ("model: expected finite losses, found NaN or infinity; ", "headgauge scan")
        self.refuse(BAD_INPUT, "plan", *tokens, *words, says=says)

    def test_an_option_that_is_given_twice(self) -> None:
        self.tiny(64)
        for option, value in (("--top", "3"), ("--lengths", "32"), ("--out", "out")):
            says = f"{option}: expected to be given once, found 3 times; leave out all but one"
            self.refuse(USAGE, "scan", "model", "--tokens", "ids.txt", *(option, value) * 3, says=says)

    def test_weights_that_do_not_fit_name_no_lengths(self) -> None:
        try:
            make_gpt2(self.folder / "large", 2, 64, 2048, 1024, sparse=True)
        except OSError as error:
            self.skipTest(f"no sparse files here: {error}")
        self.ids(64)
        message = self.refuse(
            RESOURCE,
            *"scan large --tokens ids.txt --threads 1".split(),
            limits={resource.RLIMIT_AS: 700 * MB},
            says=("weights of large: expected ", " of memory, found ", "use a smaller model, or allow more"),
        )
        self.assertNotIn("--lengths", message)

    def test_a_context_that_is_too_short_names_the_option_and_no_other_command(self) -> None:
        copy_golden("gpt2/plain", self.folder / "short")
        texts = [self.ids(64, name="one.txt").name]
        self.write("two.txt", " ".join(str((i * 5 + 3) % 41) for i in range(64)))
        words = ("short", "--tokens", *texts, "two.txt", "--lengths", "32")
        for command in (("converge", *words), ("validate", *words, "--pattern", "topk:k=4")):
            said = self.refuse(BAD_INPUT, *command, says=("--lengths: expected a context of at least 64",))
            self.assertNotIn("converge", said)
