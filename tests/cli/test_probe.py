"""--probe: tasks that a run generates itself, beside a text and alone."""

from tests.cli.checkpoints import copy_golden, make_dump
from tests.cli.command import BAD_INPUT, UNSUPPORTED, USAGE
from tests.cli.shares import DEMO, SharesTest
from tests.places import ROOT

TEXT = ROOT / "demo/text.txt"
QUICK = ("--lengths", "64,160", "--measures", "weights", "--layers", "0")
PROBES = ("--probe", "repeats", "replay", "--cases", "3")


class Probe(SharesTest):
    def run_of(self, command: str, *options, out: str = "out") -> dict:
        self.succeed(command, DEMO, *options, *QUICK, "--out", out, "--force", "--quiet")
        return self.results(out)

    def write_tasks(self, *options) -> tuple[str, ...]:
        files = ("repeats.jsonl", "replay.jsonl")
        for file in files:
            name = file.removesuffix(".jsonl")
            words = ("--length", 160, "--cases", 3, "--seed", 7, "--out", file, *options)
            self.succeed("task", name, "--model", DEMO, *words, "--quiet")
        return files

    def test_a_probe_has_the_numbers_of_its_file(self) -> None:
        for command, *words in (("scan",), ("compare", "--text", TEXT, "--pattern", "window:size=20")):
            with self.subTest(command):
                probe = self.run_of(command, *PROBES, *words, "--seed", "7")
                file = self.run_of(command, "--tasks", *self.write_tasks(*words[:2]), *words, "--seed", "7")
                self.assertEqual(probe["coords"]["outcome"][-2:], ["repeats", "replay"])
                self.assertEqual(probe["text"]["tasks"][0]["name"], "repeats")
                self.assertEqual([task["cases"] for task in probe["text"]["tasks"]], [3, 3])
                for name, metric in probe["metrics"].items():
                    self.assertEqual(metric["values"], file["metrics"][name]["values"], name)
                sums = [[task["sha256"] for task in results["text"]["tasks"]] for results in (probe, file)]
                self.assertEqual(*sums)

    def test_its_cases_are_as_long_as_the_run(self) -> None:
        self.write("short.txt", " ".join(f"word {k}" for k in range(60)))
        for words, tokens in (
            (("--lengths", "80,100"), 100),
            (("--text", "short.txt"), None),  # as long as the text
            ((), 1024),
        ):
            few = "--probe repeats --cases 1 --out out --force"
            self.succeed("scan", DEMO, *words, *QUICK[2:], *few.split())
            results = self.results("out")
            (task,) = results["text"]["tasks"]
            self.assertEqual(task["tokens"], max(results["coords"]["length"]))
            self.assertIn(tokens, (None, task["tokens"]))

    def test_beside_a_task_file_it_is_as_long_as_the_shortest_case(self) -> None:
        self.write_tasks()
        words = ("--tasks", "replay.jsonl", "--probe", "passkey", "--cases", "2", *QUICK[2:])
        self.succeed("scan", DEMO, *words, "--out", "out", "--force")
        self.assertEqual([task["tokens"] for task in self.results("out")["text"]["tasks"]], [160, 160])

    def test_the_number_of_cases(self) -> None:
        results = self.run_of("scan", "--probe", "repeats", "repeats")
        self.assertEqual(results["metrics"]["loss"]["rows"][-1][-1], 16)

    def test_the_seed_and_the_text_are_part_of_it(self) -> None:
        first = self.run_of("scan", *PROBES)["text"]["tasks"]
        self.assertNotEqual(first, self.run_of("scan", *PROBES, "--seed", "1")["text"]["tasks"])
        with_text = self.run_of("scan", *PROBES, "--text", TEXT)["text"]["tasks"]
        for task, in_text in zip(first, with_text, strict=True):
            self.assertNotEqual(task["sha256"], in_text["sha256"])

    def test_shards_have_the_bits_of_one_process(self) -> None:
        for name, words in (
            ("scan", ("scan", DEMO, "--text", TEXT, *PROBES, *QUICK)),
            ("alone", ("scan", DEMO, *PROBES, *QUICK[2:])),
            ("compare", ("compare", DEMO, *PROBES, "--pattern", "window:size=20", *QUICK)),
        ):
            with self.subTest(name):
                self.assert_shards_have_the_bits_of_one(*words, at=f"{name}/")

    def test_another_probe_is_another_run(self) -> None:
        words = ("scan", DEMO, "--text", TEXT, *QUICK)
        self.shard("1/2", "part1", *words, "--probe", "repeats")
        self.shard("2/2", "part2", *words, "--probe", "replay")
        self.refuse(BAD_INPUT, "merge", "part1", "part2", "--out", "merged", says="--probe")

    def test_what_to_do_next_has_it(self) -> None:
        printed = self.succeed("scan", DEMO, *PROBES, *QUICK).out
        self.assertIn("--probe repeats replay --pattern ", printed)

    def test_bad_input(self) -> None:
        copy_golden("gpt2/plain", self.folder / "bare")
        copy_golden("bert/defaults", self.folder / "bert")
        make_dump(self.folder / "dump.safetensors", layers=1, heads=1, length=16, width=4)
        self.refuse_each(
            (USAGE, f"{DEMO} --probe replays", "probe: expected one of copy"),
            (USAGE, f"{DEMO} --probe replay --lengths 64", "the task replay: expected a length of"),
            (BAD_INPUT, "bare --probe repeats", "tokenizer"),
            (UNSUPPORTED, "bert --probe repeats", "continues a prompt"),
            (UNSUPPORTED, "dump.safetensors --probe repeats", "a dump"),
            base=("scan",),
        )
