"""Options that change the numbers: whole scans of a tiny model and of dumps against the reference.

tests/agreement compares scans with the default options; here it is every option, on a model so
small that each takes a second.
"""

from tests.agreement.program import comparison
from tests.cli.checkpoints import draws, make_dump
from tests.cli.command import CommandTest

BRIEF = ("--temperatures", "0.1,1")  # 31 of them are compared elsewhere


class AgreementTest(CommandTest):
    def compare(self, *reference: str) -> None:
        files = [a if a.startswith("--") else self.folder / a for a in reference]
        done = comparison(self.folder / "out/results.json", *files)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertRegex(done.stdout, r"[1-9]\d* agree, 0 do not")


class Models(AgreementTest):
    def setUp(self) -> None:
        super().setUp()
        self.tiny(123)
        self.write("other.txt", " ".join(str(i * i * 5 % 41) for i in range(97)))

    def agree(self, *options, texts: tuple[str, ...] = ("ids.txt",)) -> dict:
        arguments = ("scan", "model", "--tokens", *texts, *BRIEF, *options)
        self.succeed(*arguments, "--out", "out", "--force", "--quiet")
        self.compare("--model", "model", "--tokens", *texts)
        return self.read("out/results.json")

    def test_x(self) -> None:
        for x in ("hidden", "value"):
            with self.subTest(x):
                self.agree("--x", x, "--lengths", "40,123")

    def test_vectors_as_they_are(self) -> None:
        self.agree("--unit-sphere", "false", "--x", "hidden")

    def test_seed_and_critical_n(self) -> None:
        self.agree("--seed", 7, "--critical-max", 10, "--critical-level", 0.3)

    def test_lengths_and_sizes(self) -> None:
        self.agree("--lengths", "1,2,33,122", "--top-n", "2,3,64")

    def test_choice_of_heads(self) -> None:
        self.agree("--heads", "0.2,1.*")

    def test_several_documents(self) -> None:
        results = self.agree(texts=("ids.txt", "other.txt"))
        self.assertEqual(results["coords"]["length"], [32, 64, 123])
        self.assertEqual(results["text"]["tokens"], [123, 97])

    def test_standard_errors_from_documents(self) -> None:
        """Four are the batches; each is longer than a block of 64 rows, the batch of fewer."""
        names = ["ids.txt", "other.txt"]
        for i in range(3):
            names.append(self.ids(100 + i, vocabulary=37 - i, name=f"more{i}.txt").name)
        results = self.agree("--lengths", "10,97", texts=tuple(names))
        self.assertIsNotNone(results["metrics"]["entropy_with_sinks"]["stderr"][0][0][0])


class Dumps(AgreementTest):
    def agree(self, *options, **extra) -> dict:
        make_dump(self.folder / "dump.safetensors", 2, 4, 80, 6, **extra)
        arguments = ("scan", "dump.safetensors", *BRIEF, *options)
        self.succeed(*arguments, "--out", "out", "--force", "--quiet")
        self.compare("--dump", "dump.safetensors")
        return self.read("out/results.json")["metrics"]

    def test_queries_and_keys(self) -> None:
        self.assertNotIn("distance", self.agree())

    def test_with_vectors(self) -> None:
        self.assertIn("distance", self.agree(x=draws(80, 5)))

    def test_with_values(self) -> None:
        values = {f"layers.{layer}.v": draws(4, 80, 5) for layer in (0, 1)}
        self.assertIn("distance", self.agree("--x", "value", **values))
