"""Command lines that make no sense, and the help that prevents them."""

import json
import re
import shutil
import subprocess
import sys

from tests.cli.checkpoints import copy_golden
from tests.cli.command import BAD_INPUT, USAGE, CommandTest, Finished, environment, run
from tests.places import BINARY, ROOT

COMMANDS = ("scan", "compare", "converge", "reproduce", "diff", "report", "list", "inspect")
# Commands that have commands of their own.
NESTED = {"reproduce": ("limits", "tokens"), "list": ("measures", "normalizers", "patterns")}
WIDEST = 100


class UsageTest(CommandTest):
    tiny_ids = 64

    def refuse_usage(self, *arguments, says=()) -> None:
        self.refuse(USAGE, *arguments, says=says)

    def refuse_scan(self, *options, says=()) -> None:
        """With --out: a run that is refused leaves no folder behind."""
        arguments = ("scan", "model", "--tokens", "ids.txt", "--out", "made/out")
        self.refuse_usage(*arguments, *options, says=says)


class Commands(UsageTest):
    def test_command_lines(self) -> None:
        three = ("(measures, normalizers, patterns)",)
        self.refuse_usage("", says='""')
        self.refuse_each(
            (USAGE, "", *COMMANDS, "headgauge --help"),
            (USAGE, "scna", '"scna" (did you mean scan?)'),
            (USAGE, "list", *three, "found none"),
            (USAGE, "list metrics", *three, '"metrics"'),
            (USAGE, "list measures --group nonsense", "weights", '"nonsense"'),
            (USAGE, "list measures weights", '"weights"'),
            (USAGE, "--bogus", '"--bogus"'),
            # The value of an unknown option must not pass for MODEL in silence.
            (USAGE, "scan --nonsense", '"--nonsense"', "headgauge scan --help"),
            (USAGE, "converge model --window 128", "see headgauge converge --help"),
            (USAGE, "compare model --topk 128", "write --pattern topk:k=64"),
            (USAGE, "compare model --topk=128", "write --pattern topk:k=64"),
            (USAGE, "scan", "expected MODEL, found none"),
            (USAGE, "inspect", "expected MODEL, found none"),
            (USAGE, "inspect model other", '"other"'),
            (USAGE, "scan model --tokens", "--tokens"),
            (USAGE, "scan model --tokens ids.txt --out", "--out"),
            (USAGE, "scan model ids.txt", 'found "ids.txt"; give a text by --text ids.txt'),
            (USAGE, "scan model", "--text", "--tokens"),
            (USAGE, "scan model --tokens ids.txt --text ids.txt", "--text", "--tokens"),
            # An empty value is one, as a script's unset variable makes it, and takes no other word.
            (USAGE, "scan --text= model ids.txt", '--text: expected a file, found ""'),
            (USAGE, "scan model --out= ids.txt", '--out: expected a folder, found ""'),
            (BAD_INPUT, "report -- --help", "--help: expected a readable file"),
        )
        self.refuse_usage("scan", "", "--tokens", "ids.txt", says='MODEL: expected a model, found ""')

    def test_a_paper_names_its_command(self) -> None:
        for paper, command in (("A", "limits"), ("B", "tokens")):
            self.assertEqual(
                self.succeed("reproduce", paper, "--help").out,
                self.succeed("reproduce", command, "--help").out,
            )
        self.refuse_usage("reproduce", "A", says="reproduce limits: expected MODEL")
        self.refuse_usage("reproduce", "paper", says="(limits, tokens)")
        copy_golden("gpt2/plain", self.folder / "A")
        self.succeed(
            "reproduce", "limits", "A", "--tokens", "ids.txt", "--lengths", "64", "--quiet", "--json"
        )

    def test_words_in_a_file(self) -> None:
        self.write("words.txt", "--tokens\r\nids.txt\n\na b.txt\n--lengths\n32")
        shutil.copy(self.folder / "ids.txt", self.folder / "a b.txt")
        shutil.copy(self.folder / "ids.txt", self.folder / "@ids.txt")
        table = "\n\nlayer "  # behind how long it took
        expected = self.succeed("scan", "model", "--tokens", "ids.txt", "a b.txt", "--lengths", "32").out
        found = self.succeed("scan", "model", "@words.txt").out
        self.assertEqual(found.partition(table)[2], expected.partition(table)[2])
        self.assertIn("ids.txt and 1 more   64 of 128 tokens", found)
        self.write("options.txt", "--quiet\n@words.txt\n")
        for word, says in (
            ("@none.txt", "none.txt: expected"),
            ("@empty.txt", "found none; list them, or write ./@"),
            ("@options.txt", "@words.txt"),
        ):
            self.write("empty.txt", "\n\n")
            with self.subTest(word):
                done = run("scan", "model", "--tokens", "ids.txt", word, cwd=self.folder)
                self.assertNotEqual(done.code, 0)
                self.assertIn(says, done.err)
        self.succeed("scan", "model", "--tokens", "./@ids.txt", "--lengths", "32")

    def test_a_word_in_a_file_has_no_nul(self) -> None:
        self.write("nul.txt", b"ids.txt\0.bak\n")
        self.refuse(BAD_INPUT, "scan", "model", "--tokens", "@nul.txt", says=("@nul.txt", "a NUL byte"))


class Values(UsageTest):
    def test_values_that_make_no_sense(self) -> None:
        for option, *values in (
            ("--lengths", "0", "-1", "abc", "32,", "1.5", "99999999999", ""),
            ("--top-n", "0", "-1", "abc", "1,,5", ""),
            ("--layers", "99", "0-2", "1-0", "x", "-1", ",", ""),
            ("--heads", "3", "0.9", "9.0", "x.y", "0.1,", ""),
            ("--measures", "nonsense", "weights,nonsense", ""),
            ("--sort", "nonsense", ""),
            ("--normalizer", "nonsense", "softmax:nonsense=1", "softmax:t=0", ""),
            ("--x", "nonsense", ""),
            ("--temperatures", "0", "-1", "nan", "inf", "1,x", ""),
            ("--epsilons", "0", "-1", "nan", "inf", ""),
            ("--critical-max", "0", "x", ""),
            ("--critical-level", "0", "1", "nan", ""),
            ("--unit-sphere", "maybe", ""),
            ("--queries", "0", "-1", "some", ""),
            ("--threads", "0", "-1", "1.5", "many", "100000", ""),
            ("--seed", "-1", "x", "18446744073709551616", ""),
            ("--top", "0", "-1", ""),
        ):
            for value in values:
                with self.subTest(f"{option}={value}"):
                    self.refuse_scan(f"{option}={value}", says=option)
        # A variable of a script that is not set must not mean "write nothing" in silence.
        self.refuse_usage("scan", "model", "--tokens", "ids.txt", "--out", "", says="--out")

    def test_a_message_says_what_would_do(self) -> None:
        self.refuse_each(
            (USAGE, "--measures nonsense", "weights", "sensitivity", '"nonsense"'),
            (USAGE, "--pattern window=16", 'found "16"; write window:size=16'),
            (USAGE, "--layers 2", "from 0 to 1"),
            (USAGE, "--heads 1.4", "from 0 to 3"),
            (USAGE, "--layers 0 --heads 1.2", "none in common"),
            (USAGE, "--threads 100000", "--threads", "from 1 to 1024"),
            # What is sorted by is checked against what will be measured.
            (USAGE, "--sort loss", "entropy_with_sinks", "separability_with_sinks"),
            (USAGE, "--sort entropy_with_sinks_by_position", '"entropy_with_sinks_by_position"'),
            (USAGE, "--sort distance --measures weights", "entropy_with_sinks"),
            (USAGE, "--sort separability --top-n 1,50", "entropy_with_sinks"),
            base=("scan", "model", "--tokens", "ids.txt", "--out", "made/out"),
        )

    def test_a_file_or_folder_of_another_kind(self) -> None:
        self.write("notes.txt", "Well, Prince, so Genoa and Lucca")
        self.write("cases.jsonl", '{"prompt": "a", "answer": "b"}\n')
        self.write("keys.npy", b"\x93NUMPY\x01\x00v\x00{}" + b" " * 116)
        self.write("old/results.json", '{\n  "schema": "headgauge.results/3"\n}')
        for name, says in (
            ("notes.txt", ("found a text", "--text")),
            ("cases.jsonl", ("found JSON", "--tasks")),
            ("old/results.json", ("found JSON", "headgauge report")),
            ("keys.npy", ("found an array of NumPy", "headgauge.analyze()")),
            ("old", ("expected config.json", "name the model that was measured")),
        ):
            for command in (("inspect", name), ("scan", name, "--tokens", "ids.txt")):
                with self.subTest(command):
                    self.refuse(BAD_INPUT, *command, says=says)
        for command in (("report", "model"), ("diff", "model", "old"), ("series", "model", "old")):
            with self.subTest(command):
                self.refuse(BAD_INPUT, *command, says="scan it first: headgauge scan model --text FILE")


class Help(UsageTest):
    def help_of(self, *command) -> str:
        done = self.succeed(*command, "--help")
        self.assertEqual(done.err, "")
        return done.out

    def test_every_command_has_help_with_an_example(self) -> None:
        nested = ((name, inner) for name, inners in NESTED.items() for inner in inners)
        for command in ((), *((name,) for name in COMMANDS), *nested):
            with self.subTest(command):
                text = self.help_of(*command)
                self.assertIn(f"Example: headgauge {' '.join(command)}", text)
                self.assertNotIn("\n\n\n", text)
                for line in text.splitlines():
                    self.assertLessEqual(len(line), WIDEST, line)

    def test_the_overview_names_every_command(self) -> None:
        text = self.help_of()
        for name in COMMANDS:
            self.assertRegex(text, rf"(?m)^  {name} +\S")

    def test_examples_parse(self) -> None:
        """They name files that are not here; that is the only complaint about them."""
        nested = [(name, inner) for name, inners in NESTED.items() for inner in inners]
        for command in [*((name,) for name in COMMANDS if name not in NESTED), *nested]:
            for line in re.findall(r"headgauge .*", self.help_of(*command).split("Example: ")[1]):
                done = self.run_line(line)
                with self.subTest(line):
                    self.assertIn(done.code, (0, 3), done.err)

    def run_line(self, line: str) -> Finished:
        arguments = line.split()[1:]
        env = environment(HOME=str(self.folder))
        return run(*arguments, cwd=self.folder, env=env)

    def test_version(self) -> None:
        self.assertRegex(self.succeed("--version").out, r"^headgauge \d+\.\d+\.\d+\n$")

    def test_the_page_of_a_command_has_every_option_and_no_other(self) -> None:
        for name in COMMANDS:
            page = (ROOT / f"docs/{name}.md").read_text()
            helps = [self.help_of(name), *(self.help_of(name, n) for n in NESTED.get(name, ()))]
            there = set(re.findall(r"(?m)^ +(?:-h,)?(--[a-z-]+)", "\n".join(helps)))
            documented = set(re.findall(r"(?m)^\| `(--[a-z-]+)", page))
            for shared in re.findall(r"(?ms)^\| as for \[.*?<!--", page):
                documented |= set(re.findall(r"`(--[a-z-]+)`", shared))
            self.assertEqual(documented, there - {"--help"}, name)


class Lists(UsageTest):
    def test_measures(self) -> None:
        listed = json.loads(self.succeed("list", "measures", "--json").out)
        names = [metric["name"] for metric in listed]
        self.assertEqual(len(names), len(set(names)))
        text = self.succeed("list", "measures").out
        for metric in listed:
            for key in ("name", "group", "unit", "formula", "source", "meaning"):
                self.assertTrue(metric[key], metric)
                self.assertIn(metric[key], text)
            self.assertRegex(metric["name"], r"^[a-z][a-z0-9_]*$")

    def test_a_group_says_what_it_needs(self) -> None:
        counterfactual = self.succeed("list", "measures", "--group", "counterfactual").out
        begins = "counterfactual (needs a --normalizer or a --pattern)\n  kept_mass "
        self.assertTrue(counterfactual.startswith(begins))

    def test_every_metric_stands_in_a_table_of_the_docs(self) -> None:
        document = (ROOT / "docs/formats.md").read_text()
        for metric in json.loads(self.succeed("list", "measures", "--json").out):
            self.assertRegex(document, rf"(?m)^\|[^|]*\| `{metric['name']}` \| ")

    def test_no_table_of_the_docs_is_stale(self) -> None:
        done = self.other(sys.executable, ROOT / "tools/docs.py", "--check", BINARY)
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_changed_declaration_makes_the_tables_stale(self) -> None:
        for part in ("tools/docs.py", "docs/formats.md", "catalogue"):
            target = self.folder / part
            target.parent.mkdir(exist_ok=True)
            (shutil.copytree if (ROOT / part).is_dir() else shutil.copy)(ROOT / part, target)
        first = min((self.folder / "catalogue").iterdir())
        first.write_text(first.read_text().replace("The total weight", "All of the weight"))
        command = [sys.executable, self.folder / "tools/docs.py"]
        done = subprocess.run([*command, "--check"], capture_output=True, text=True)
        self.assertEqual((done.returncode, "formats.md" in done.stderr), (1, True))
        self.assertEqual(subprocess.run(command).returncode, 0)
        self.assertIn("All of the weight", (self.folder / "docs/formats.md").read_text())
        self.assertEqual(subprocess.run([*command, "--check"]).returncode, 0)

    def test_sources_name_the_page_and_what_is_on_it(self) -> None:
        page = (ROOT / "docs/mathematics.md").read_text()
        text = self.succeed("list", "measures").out + self.succeed("list", "normalizers").out
        self.assertNotRegex(text, r"\bmath [0-9A-Z]")
        cited = set(re.findall(r"docs/mathematics\.md ([^\s,;]+)", text))
        self.assertGreater(len(cited), 10)
        for place in cited:
            heading = re.escape(place)
            self.assertRegex(page, rf"(?m)^## {heading}\. |\*\*{heading}\*\*", place)

    def test_measures_of_a_group(self) -> None:
        every = json.loads(self.succeed("list", "measures", "--json").out)
        groups = {metric["group"] for metric in every}
        self.assertEqual(len(groups), len(list((ROOT / "catalogue").iterdir())))
        help_text = " ".join(self.succeed("scan", "--help").out.split())
        of_scan = [
            name
            for name in dict.fromkeys(metric["group"] for metric in every)
            if any(m["group"] == name and m["command"] == "scan" for m in every)
        ]
        self.assertIn(f"Groups of metrics: {', '.join(of_scan)} (default", help_text)
        for group in groups:
            some = json.loads(self.succeed("list", "measures", "--group", group, "--json").out)
            self.assertEqual(some, [metric for metric in every if metric["group"] == group])

    def test_normalizers(self) -> None:
        listed = json.loads(self.succeed("list", "normalizers", "--json").out)
        self.assertIn("softmax", [entry["name"] for entry in listed])
        text = self.succeed("list", "normalizers").out
        for entry in listed:
            self.assertIn(entry["name"], text)
            self.assertTrue(entry["formula"] and entry["source"], entry)

    def test_inspect(self) -> None:
        facts = json.loads(self.succeed("inspect", "model", "--json").out)
        expected = {"family": "gpt2", "layers": 2, "heads": 4, "kv_heads": 4, "head_dim": 5,
                    "width": 20, "vocabulary": 41, "positions": 128}  # fmt: skip
        self.assertEqual({key: facts[key] for key in expected}, expected)
        text = self.succeed("inspect", "model").out
        for key, value in expected.items():
            self.assertRegex(text, rf"(?m)^{key} +{value}$")
        shown = {"activation": "gelu_new", "attention_scale": "1/sqrt(head_dim)",
                 "tokenizer": "none", "prefix": "transformer."}  # fmt: skip
        self.assertEqual({key: facts[key] for key in shown}, shown)
        for key, value in shown.items():
            self.assertRegex(text, rf"(?m)^{key} +{re.escape(value)}$")
        # The weights themselves may be named, too.
        same = json.loads(self.succeed("inspect", "model/model.safetensors", "--json").out)
        self.assertEqual(same["weights_sha256"], facts["weights_sha256"])

    def test_inspect_of_what_a_config_switches(self) -> None:
        config = self.folder / "model/config.json"
        whole = json.loads(config.read_text())
        for by_dimension, by_layer, scale in (
            (False, False, "1"),
            (False, True, "1/(layer + 1)"),
            (True, True, "1/(sqrt(head_dim) (layer + 1))"),
        ):
            config.write_text(json.dumps({
                **whole,
                "activation_function": "relu",
                "scale_attn_weights": by_dimension,
                "scale_attn_by_inverse_layer_idx": by_layer,
            }))  # fmt: skip
            facts = json.loads(self.succeed("inspect", "model", "--json").out)
            self.assertEqual((facts["activation"], facts["attention_scale"]), ("relu", scale))

    def test_inspect_of_tokenizers_and_prefixes(self) -> None:
        def kind() -> str:
            return json.loads(self.succeed("inspect", "model", "--json").out)["tokenizer"]

        self.write("model/vocab.json", "{}")
        self.assertEqual(kind(), "none")
        self.write("model/merges.txt", "")
        self.assertEqual(kind(), "BPE (vocab.json, merges.txt)")
        for text, expected in (
            ('{"model": {"type": "WordPiece"}}', "WordPiece"),
            ('{"model": {}}', "unknown kind"),
            ("[", "unknown kind"),
        ):
            self.write("model/tokenizer.json", text)
            self.assertEqual(kind(), expected + " (tokenizer.json)")
        copy_golden("gpt2/sharded-no-prefix", self.folder / "bare")
        self.assertEqual(json.loads(self.succeed("inspect", "bare", "--json").out)["prefix"], "")
        self.assertIn("attention_distance", self.succeed("list", "measures", "back").out)  # a column
        bare = self.succeed("inspect", "bare").out
        self.assertRegex(bare, "(?m)^causal +yes$")
        self.assertNotIn("prefix", bare)

    def test_inspect_of_shards(self) -> None:
        copy_golden("gpt2/sharded", self.folder / "sharded")
        self.assertEqual(json.loads(self.succeed("inspect", "sharded", "--json").out)["files"], 3)
