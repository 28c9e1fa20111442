"""Scans that succeed: what is printed, what is written, and that options do what they say."""

import json
import re

from tests.cli.checkpoints import make_dump
from tests.cli.command import CommandTest, flat
from tests.places import BINARY, DATA

CAPP = DATA / "models/capp-gpt"
WIDEST = 100
ESCAPE = "\x1b"


def is_of_layer(metric: dict) -> bool:
    return metric["dims"][:1] == ["layer"]


class ScanTest(CommandTest):
    tiny_ids = 123

    def scan(self, *options, out: str = "out") -> dict:
        """The results of a scan of the tiny model, from the file."""
        return self.saved("scan", "model", "--tokens", "ids.txt", *options, "--quiet", out=out)[0]


# What a command prints and where, which is nothing of the results.
OF_THE_PROGRAM = {"all", "explain", "force", "json", "out", "quiet", "shard", "sort", "table", "top"}


class Settings(ScanTest):
    def options(self) -> set[str]:
        """Every long option of scan, as settings are named."""
        text = self.succeed("scan", "--help").out
        named = re.findall(r"(?m)^ +(?:-h,)?--([a-z0-9-]+)", text)
        return {name.replace("-", "_") for name in named} - {"help"}

    def test_every_option_has_one_key(self) -> None:
        options = self.options()
        self.assertIn("critical_max", options)
        settings = self.scan()["settings"]
        self.assertEqual(set(settings), options - OF_THE_PROGRAM)

    def test_a_long_text_tells_what_it_has_and_what_was_read(self) -> None:
        # The model has 128 positions.
        self.ids(200, name="long.txt")
        for lengths, read in (("32", [32, 32]), ("auto", [123, 128])):
            results = self.scan("long.txt", "--lengths", lengths)
            self.assertEqual(results["text"]["tokens"], read)
            self.assertEqual(results["text"]["tokens_total"], [123, 200])


class Files(ScanTest):
    def test_results(self) -> None:
        results = self.scan()
        coords = results["coords"]
        self.assertEqual(coords["layer"], [0, 1])
        self.assertEqual(coords["head"], [0, 1, 2, 3])
        self.assertEqual(coords["length"], [32, 64, 123])
        self.assertFalse(results["partial"])
        self.assertEqual(results["model"]["family"], "gpt2")
        self.assertEqual(results["text"]["tokens"], [123])
        self.assertEqual(results["settings"]["seed"], 0)

    def test_every_metric_is_declared_and_every_declared_one_is_there(self) -> None:
        listed = [
            m for m in json.loads(self.succeed("list", "measures", "--json").out) if m["command"] == "scan"
        ]
        declared = {m["name"]: m["unit"] for m in listed}
        declared |= {"loss_change_lost_keys": "nats", "answers_kept": "1"}  # of caches, as in compare
        declared |= {m["name"] + "_by_position": m["unit"] for m in listed if m["by_position"]}
        case = {"prompt": [1, 2, 3, 4], "answer": [2], "control": [1, 5, 5, 4], "distance": 3}
        self.write("tasks.jsonl", json.dumps(case))
        options = ("--top-share", "0.1,0.5", "--tasks", "tasks.jsonl")
        metrics = (
            self.scan(*options)["metrics"] | self.scan(*options, "--pattern", "sinks:window=60")["metrics"]
        )
        self.assertEqual({name: metric["unit"] for name, metric in metrics.items()}, declared)

    def test_json_is_the_file(self) -> None:
        arguments = ("scan", "model", "--tokens", "ids.txt", "--out", "out", "--json")
        done = self.succeed(*arguments)
        self.assertEqual(done.out, (self.folder / "out/results.json").read_text())

    def test_without_out_nothing_is_written(self) -> None:
        before = sorted(self.folder.rglob("*"))
        self.succeed("scan", "model", "--tokens", "ids.txt", "--measures", "weights")
        self.assertEqual(sorted(self.folder.rglob("*")), before)

    def test_many_threads_are_no_reason_for_noise(self) -> None:
        done = self.succeed("scan", "model", "--tokens", "ids.txt", "--threads", "64")
        self.assertEqual(done.err, "")


class Table(ScanTest):
    def test_reads_well_where_it_is_piped(self) -> None:
        done = self.succeed("scan", "model", "--tokens", "ids.txt", "--out", "out")
        self.assertEqual(done.err, "")
        self.assertNotIn(ESCAPE, done.out)
        lines = done.out.splitlines()
        written = lines[-1]
        self.assertEqual(written, "Written: out/results.json, out/heads.csv")
        self.assertEqual(lines[-2], "")
        begin = len(lines) - 2 - lines[-3::-1].index("")
        for line in lines[:begin]:
            self.assertLessEqual(len(line), WIDEST, line)
        summary = lines[begin:-2]
        sentences = [line for line in summary if not re.match("  |How far back|None is|Lost answers", line)]
        self.assertEqual(len(sentences), 5)
        for line in sentences:
            self.assertRegex(line, r"\bhead \d\.\d\b")
            self.assertRegex(line, r"\bL = \d+")

    def heads_shown(self, *options) -> list[str]:
        arguments = ("scan", "model", "--tokens", "ids.txt", "--measures", "weights", *options)
        return re.findall(r"(?m)^ *(\d+\.\d+)  ", self.succeed(*arguments).out)

    def test_shows_every_head_or_the_first_of_them_sorted(self) -> None:
        every = [f"{layer}.{head}" for layer in (0, 1) for head in range(4)]
        self.assertEqual(self.heads_shown(), every)
        self.assertEqual(self.heads_shown("--top", "3"), every[:3])
        entropy = self.scan("--measures", "weights")["metrics"]["entropy_with_sinks"]["values"]
        at_longest = {f"{l}.{h}": entropy[l][h][-1] for l in (0, 1) for h in range(4)}
        ranking = sorted(every, key=lambda name: -at_longest[name])
        self.assertNotEqual(ranking, every)
        self.assertEqual(self.heads_shown("--sort", "entropy_with_sinks"), ranking)
        self.assertEqual(self.heads_shown("--sort", "entropy_with_sinks", "--top", "2"), ranking[:2])


class Choices(ScanTest):
    def test_measures(self) -> None:
        listed = json.loads(self.succeed("list", "measures", "--json").out)
        group_of = {m["name"]: m["group"] for m in listed}
        for groups in (["weights"], ["model"], ["weights", "sensitivity"], ["coverage"]):
            results = self.scan("--measures", ",".join(groups))
            found = {group_of[n.removesuffix("_by_position")] for n in results["metrics"]}
            self.assertEqual(found, set(groups))
        self.assertEqual(results["settings"]["measures"], ["coverage"])

    def test_a_group_by_itself_gives_the_same_values(self) -> None:
        every = self.scan()["metrics"]
        for group in ("weights", "distance", "separability", "sensitivity", "coverage"):
            for name, metric in self.scan("--measures", group)["metrics"].items():
                self.assertEqual(metric.get("rows"), every[name].get("rows"), name)
                for alone, together in zip(flat(metric["values"]), flat(every[name]["values"])):
                    # Not to the bit: what others need may be computed in another order. A bound on separability is
                    # what is left of 1, so that digits of float32 are those of 1, however small it is.
                    digits = 2.0**-23 if "separability" in name else 0
                    same = alone == together or abs(alone - together) <= max(1e-5 * abs(together), digits)
                    self.assertTrue(same, f"{name}: {alone} and {together}")

    def test_layers(self) -> None:
        every = self.scan()
        some = self.scan("--layers", "1")
        self.assertEqual(some["coords"]["layer"], [1])
        for name, metric in some["metrics"].items():
            if is_of_layer(metric):
                self.assertEqual(metric["values"], every["metrics"][name]["values"][1:], name)
        self.assertEqual({flag["layer"] for flag in some["flags"]} - {1}, set())

    def test_labels_are_what_was_asked_for(self) -> None:
        options = "--lengths 100,10,100 --top-n 3,2 --temperatures 0.5,2 --epsilons 0.01".split()
        coords = self.scan(*options)["coords"]
        labels = {"length": [10, 100], "top_n": [2, 3], "temperature": [0.5, 2], "epsilon": [0.01]}
        self.assertEqual({dim: coords[dim] for dim in labels}, labels)

    def test_queries(self) -> None:
        some = self.scan("--queries", "8")
        self.assertEqual(some["settings"]["queries"], 8)
        every = self.scan("--queries", "all")
        rows = every["metrics"]["entropy_with_sinks"]["rows"][0][0]
        self.assertEqual(rows, [32, 64, 123])
        fewer = some["metrics"]["entropy_with_sinks"]["rows"][0][0]
        self.assertTrue(all(a < b for a, b in zip(fewer, rows)), fewer)
        # The model runs over every row all the same.
        self.assertEqual(some["metrics"]["loss"], every["metrics"]["loss"])

    def test_several_documents(self) -> None:
        self.write("other.txt", "7 6 5 4 3 2 1 0 " * 12)
        done = self.succeed("scan", "model", "--tokens", "ids.txt", "other.txt", "--json")
        results = json.loads(done.out)
        self.assertEqual(results["text"]["names"], ["ids.txt", "other.txt"])
        self.assertEqual(results["text"]["tokens"], [123, 96])
        self.assertEqual(results["coords"]["length"], [32, 64, 123])
        # The second is too short to take part at 123.
        self.assertEqual(results["metrics"]["entropy_with_sinks"]["rows"][0][0], [64, 128, 123])
        notice = "other.txt has 96 tokens and takes part only up to length 64"
        self.assertEqual([n for n in results["notices"] if "takes part" in n], [notice])
        self.assertIn(f"headgauge: note: {notice}\n", done.err)
        self.write("tiny.txt", "1 2 3")
        done = self.succeed("scan", "model", "--tokens", "ids.txt", "tiny.txt")
        self.assertIn("note: tiny.txt has 3 tokens and takes part at none of the lengths", done.err)

    def test_lengths_that_one_of_several_documents_does_not_have(self) -> None:
        self.write("short.txt", "7 6 5 4 3 2 1 0 " * 5)
        texts = ("ids.txt", "short.txt")
        says = ("short.txt: expected --lengths of at most 40", "40 tokens", "found 64")
        says += ("choose from 32, 40", "--lengths auto")
        self.refuse(3, "scan", "model", "--tokens", *texts, "--lengths", "10,64", says=says)
        self.succeed("scan", "model", "--tokens", *texts, "--lengths", "10,40")

    def test_a_text_of_few_rows_has_no_findings(self) -> None:
        for rows, judged in ((3, False), (31, False), (32, True)):
            self.write("few.txt", " ".join(str(7 * i % 41) for i in range(rows)))
            results, done = self.saved("scan", "model", "--tokens", "few.txt", out="few")
            self.assertEqual(bool(results["summary"]), judged, rows)
            self.assertEqual("no findings and no flags" in done.err, not judged, rows)
            if not judged:
                self.assertEqual(results["flags"], [])
                self.assertIn(f"of {rows} rows at most, and fewer than 32", done.err)

    def test_sizes_that_no_row_has(self) -> None:
        self.assertEqual(self.sizes_notice("--top-n", "5,500,5000"), ["500, 5000"])
        self.assertEqual(self.sizes_notice("--top-n", "5,32", "--lengths", "32"), ["32"])
        self.assertEqual(self.sizes_notice("--top-n", "5,31", "--lengths", "32"), [])
        self.assertEqual(self.sizes_notice("--top-n", "5000", "--measures", "weights"), [])
        self.assertEqual(self.sizes_notice("--lengths", "32"), [])

    def sizes_notice(self, *options: str) -> list[str]:
        done = self.succeed("scan", "model", "--tokens", "ids.txt", *options)
        return re.findall(r"note: no query sees more than \d+ keys: .* N = ([\d, ]+), so their", done.err)

    def test_a_pipe_for_a_file(self) -> None:
        """As <(command) gives one to a shell."""
        script = f"'{BINARY}' scan model --tokens /dev/stdin --json --measures weights < ids.txt"
        piped = f"cat ids.txt | '{BINARY}' scan model --tokens /dev/stdin --json --measures weights"
        texts = []
        for line in (script, piped):
            done = self.other("sh", "-c", line)
            self.assertEqual(done.returncode, 0, done.stderr)
            texts.append(json.loads(done.stdout)["text"])
        self.assertEqual(*texts)


class Models(CommandTest):
    def test_text_of_a_real_model(self) -> None:
        if not CAPP.exists():
            self.skipTest(f"{CAPP} is not there")
        parts = ["geometry_prismatic", "holes_normal", "external_threads_no", "tolerance_medium",
                 "batch_size_small", "<SOS>", "Milling", "Drilling", "<EOC>"]  # fmt: skip
        self.write("parts.txt", " ".join(parts * 5) + "\n")
        results, done = self.saved("scan", CAPP, "--text", "parts.txt")
        self.assertEqual(results["text"]["tokens"], [45])
        self.assertEqual(results["coords"]["length"], [32, 45])
        self.assertEqual(len(re.findall(r"(?m)^ *\d\.\d  +\S+ ", done.out)), 16)

    def test_phantom(self) -> None:
        self.phantom("ghost", 6)
        arguments = ("scan", "ghost", "--tokens", "ghost/tokens.txt", "--lengths", "32,64,128")
        results = self.saved(*arguments)[0]
        uniform = results["metrics"]["entropy_normalized_with_sinks"]["values"][0][0]
        for value in uniform:
            self.assertAlmostEqual(value, 1, delta=1e-5)
        # Each token stands once: the heads that look for its copies and at itself agree.
        self.assertEqual(results["metrics"]["top_overlap_partner"]["values"][0][3:5], [4, 3])
        beyond = results["metrics"]["entropy_normalized"]["values"][0]
        self.assertGreater(
            min(beyond[0][-1], beyond[1][-1]), 0.95, "beyond its sink the weights of head 1 are even"
        )
        self.assertLess(beyond[4][-1], 0.05)
        flags = {(flag["name"], flag["head"]) for flag in results["flags"]}
        self.assertEqual(flags & {("sinks", 0), ("sinks", 1)}, {("sinks", 1)})

    def test_the_table_names_roles(self) -> None:
        self.phantom("ghost", 6)
        words = "scan ghost --tokens ghost/repeated.txt --lengths 32,64,128 --measures weights,roles"
        results, done = self.saved(*words.split())
        named = "sinks previous copies near induction far".split()
        flags = [flag for flag in results["flags"] if flag["name"] in named]
        self.assertEqual([(flag["head"], flag["name"]) for flag in flags], list(enumerate(named, 1)))
        self.assertTrue(all(flag["value"] >= flag["threshold"] for flag in flags))
        header = next(line for line in done.out.splitlines() if line.startswith("layer "))
        column = header.index("roles, flags")
        roles = {
            line[2:5]: (line[column:].split() or [""])[0]
            for line in done.out.splitlines()
            if line.startswith("  0.")
        }
        self.assertEqual(roles, {f"0.{head}": role for head, role in enumerate(["wide", *named])})


class Dumps(CommandTest):
    """Dump files: no config, no tokens, and only what is in them."""

    def setUp(self) -> None:
        super().setUp()
        make_dump(self.folder / "dump.safetensors", layers=2, heads=3, length=80, width=4)

    def test_what_is_not_there_is_said_after_success(self) -> None:
        results, done = self.saved("scan", "dump.safetensors")
        self.assertEqual(results["coords"]["length"], [32, 64, 80])
        self.assertEqual(results["text"]["tokens"], [80])
        self.assertEqual(results["text"]["tokens_total"], [80])
        self.assertIn("entropy_with_sinks", results["metrics"])
        for absent in ("distance", "separability_with_sinks", "union_coverage", "loss"):
            self.assertNotIn(absent, results["metrics"])
        self.assertGreater(len(results["notices"]), 0)
        notes = [f"headgauge: note: {notice}" for notice in results["notices"]]
        self.assertEqual(done.err.splitlines(), notes)
        self.assertRegex(done.out, r"(?m)^ *1\.2  ")

    def test_quiet_says_nothing_on_stderr(self) -> None:
        done = self.succeed("scan", "dump.safetensors", "--quiet")
        self.assertEqual(done.err, "")
        self.assertNotEqual(done.out, "")

    def test_tokens_that_are_not_needed_are_not_ignored_in_silence(self) -> None:
        self.write("ids.txt", "1 2 3")
        done = self.succeed("scan", "dump.safetensors", "--tokens", "ids.txt")
        self.assertIn("note: the texts were not read", done.err)

    def test_inspect(self) -> None:
        facts = json.loads(self.succeed("inspect", "dump.safetensors", "--json").out)
        self.assertEqual((facts["kind"], facts["layers"], facts["heads"]), ("dump", 2, 3))
        self.assertEqual((facts["length"], facts["head_dim"]), (80, 4))

    def test_what_cannot_be_measured_on_it(self) -> None:
        self.refuse_each(
            (3, "--lengths 81", "80", "found 81"),
            (4, "--measures coverage,model", "coverage, model", "weights, sensitivity", "need the vectors x"),
            base=("scan", "dump.safetensors"),
        )

    def test_of_what_was_asked_for_the_rest_is_measured(self) -> None:
        asked = ("--measures", "weights,distance,model")
        done = self.succeed("scan", "dump.safetensors", *asked)
        self.assertIn("note: the dump holds no x", done.err)
        self.assertIn("note: there is no loss: dump.safetensors gives no logits", done.err)
        self.assertRegex(done.out, r"(?m)^ *1\.2  ")
