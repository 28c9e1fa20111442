"""headgauge reproduce: both papers' figures for the model at hand, as a user runs it."""

import json
import random
import re
import resource
import signal

from tests.cli.answers import likeliest, write_cases
from tests.cli.checkpoints import copy_golden, make_gpt2
from tests.cli.command import INTERRUPTED, RESOURCE, CommandTest, environment, flat
from tests.cli.terminal import Terminal
from tests.places import ROOT
from tests.results.schema import validate, validate_text

DEMO = (str(ROOT / "demo/model"), "--text", str(ROOT / "demo/text.txt"))
THEOREMS = set(
    "distance_bound_is_safe gradient_bound_is_safe separability_bound_without_sphere weights_are_bounded".split()
)
# A scan has one temperature.
OF_TEMPERATURES = set(
    "cold_raises_the_norm_alone norm_follows_temperature cold_inflates_the_spread heat_loses_selectivity".split()
)
OF_TASKS = set(
    "answers_are_lost_with_context growing_entropy_loses_answers falling_separability_loses_answers".split()
)
# Claims of the two papers.
LIMITS, TOKENS = 35, 13
SMALL = ("--dimension", "6", "--grid", "60,120,240,480", "--replicates", "4")


def verdicts(results: dict) -> dict[str, str]:
    return {claim["name"]: claim["verdict"] for claim in results["claims"]}


def sizes_of(results: dict) -> list[str]:
    """The options with which a scan looks at as many keys."""
    lists = {name: ",".join(map(str, results["settings"][name])) for name in ("top_n", "top_share")}
    return [f"--{name.replace('_', '-')}={numbers}" for name, numbers in lists.items()]


class Limits(CommandTest):
    def test_the_demo_model(self) -> None:
        folder = self.folder / "reproduce-limits"
        ours = self.write("reproduce-limits/figures/of-another-model.svg", '<svg data-by="headgauge"/>')
        others = self.write("reproduce-limits/figures/mine.svg", "<svg/>")
        done = self.succeed("reproduce", "limits", *DEMO)
        self.assertEqual(
            sorted(p.name for p in folder.iterdir()), ["figures", "heads.csv", "report.html", "results.json"]
        )
        self.assertFalse(ours.exists())
        others.unlink()
        drawn = {p.stem for p in (folder / "figures").iterdir()}
        of_paper = ("2a", "2b", "2c", "corollary-2", "corollary-2-separability", "3", "4")
        self.assertLessEqual({f"paper-{name}" for name in of_paper}, drawn)
        self.assertIn(f"figures ({len(drawn)} SVG files)", done.out)
        results = validate(folder / "results.json")
        settings = results["settings"]
        self.assertEqual(results["command"], "reproduce limits")
        used = {"experiment": "limits", "x": "embedding", "seed": 0, "critical_max": 128}
        for key, value in (used | {"lengths": [32, 64, 128, 256, 512, 1024]}).items():
            self.assertEqual(settings[key], value, key)
        self.assertLessEqual({1, 5, 10, 20, 100}, set(settings["top_n"]))
        self.assertEqual(len({claim["name"] for claim in results["claims"]}), LIMITS)
        printed = " ".join(done.out.split())
        for claim in results["claims"]:
            self.assertEqual(claim["paper"], "A")
            untested = claim["name"] in {*OF_TASKS, "critical_n_grows_sublinearly"}
            self.assertEqual(claim["verdict"] == "not tested", untested, claim)
            self.assertEqual(claim.get("theorem", False), claim["name"] in THEOREMS)
            # What was measured is on the screen, as it stands in the file.
            self.assertIn(" ".join(claim["measured"].split()), printed)
        for name in THEOREMS:
            self.assertEqual(verdicts(results)[name], "holds")
        self.assertIn("a theorem: this checks the code", printed)
        # The claims on answers have cases of their own; the model answers none.
        self.assertEqual(results["metrics"]["case_tokens"]["values"], 8 * [256] + 8 * [512] + 8 * [1024])
        self.assertIn("8 cases of `keys` at each of 256, 512, 1024 tokens", done.err)
        self.assertEqual(settings["places"], 1, "the text has no four times 1024 tokens")
        for claim in results["claims"]:
            if claim["verdict"] in ("holds", "does not hold") and not claim.get("theorem"):
                self.assertIn(claim["name"], OF_TASKS | {"entropy_warns", "falling_separability_warns"})
        self.check_facts(results)

    def test_what_a_verdict_turns_with(self) -> None:
        """Four places of the text, each beside scans of that place, with the sinks and without them."""
        copy_golden("gpt2/plain", self.folder / "model")
        draw = random.Random(3)
        tokens = [draw.randrange(41) for _ in range(4 * 128 + 50)]
        self.write("ids.txt", " ".join(map(str, tokens)))
        whole = ("reproduce", "limits", "model", "--tokens", "ids.txt", "--json", "--quiet", "--out", "whole")
        results = json.loads(self.succeed(*whole).out)
        self.assertEqual(results["settings"]["places"], 4)
        lists = sizes_of(results)

        def judged(place: int, beyond: str) -> dict[str, tuple[str, dict]]:
            self.write("place.txt", " ".join(map(str, tokens[place * 128 : (place + 1) * 128])))
            scan = ("scan", "model", "--tokens", "place.txt", *lists, "--beyond-sinks", beyond)
            self.succeed(*scan, "--quiet", "--out", "scan", "--force")
            again = ("reproduce", "limits", "--results", "scan", "--json", "--out", "judged", "--force")
            found = {}
            for claim in json.loads(self.succeed(*again).out)["claims"]:
                here = re.search(r" It (holds|does not hold) here, at 1 of the 4 places", claim["measured"])
                found[claim["name"]] = (here[1] if here else claim["verdict"], claim["facts"][:1])
            return found

        own = [judged(place, "false") for place in range(4)]
        beyond = [judged(place, "true") for place in range(4)]
        told = 0
        for claim in results["claims"]:
            name = claim["name"]
            if name in OF_TASKS | OF_TEMPERATURES or "warns" in name or claim["verdict"] == "not tested":
                continue
            with_sinks = [place[name][0] for place in own]
            without = [place[name][0] for place in beyond] if "distance" in name else []
            alike = len({*with_sinks, *without}) == 1
            if "distance" in name or not claim["measured"].endswith("of 4 places."):
                self.assertEqual(claim["verdict"], with_sinks[0] if alike else "cannot tell", claim)
                self.assertEqual("It turns with the " in claim["measured"], not alike, claim)
            values = [place[name][1][0]["value"] for place in own if place[name][1]]
            mean = re.search(r"Over 4 places the .* is (\S+) ±", claim["measured"])
            if mean and len(values) == 4:
                self.assertAlmostEqual(float(mean[1]), sum(values) / 4, delta=abs(sum(values)) / 4 * 0.01)
                told += 1
        self.assertGreater(told, 4)

    def check_facts(self, results: dict) -> None:
        """Against the cells of the file, by way of its own."""
        facts = {
            claim["name"]: {f["name"]: f["value"] for f in claim["facts"]} for claim in results["claims"]
        }
        coords, metrics = results["coords"], results["metrics"]
        n = coords["top_n"].index(20)
        heads = [head[-1][n] for layer in metrics["separability"]["values"] for head in layer]
        self.assertAlmostEqual(facts["separability_settles"]["separability_20"], sum(heads) / len(heads))
        worst = metrics["sensitivity_max"]["values"]
        cold = min(range(31), key=lambda i: abs(coords["temperature"][i] - 0.1))
        self.assertEqual(facts["sensitivity_falls_by_two_orders"]["g_cold"], worst[cold][0])
        self.assertEqual(facts["sensitivity_falls_by_two_orders"]["g_hot"], worst[-1][0])
        self.assertEqual(facts["critical_n_is_small"]["critical_n"], metrics["critical_n"]["values"][-1])
        five = coords["top_n"].index(5)
        factors = []
        for bounds, distances in zip(
            metrics["distance_bound_paper"]["values"], metrics["distance"]["values"]
        ):
            for bound, distance in zip(bounds, distances):
                for l, (b, d) in enumerate(zip(bound, distance)):
                    last = l + 1 == len(coords["length"])
                    factors += [b[i] / d[i] for i in range(len(d)) if last or i == five]
        self.assertEqual(facts["distance_bound_is_safe"]["cells"], len(factors))
        self.assertEqual(facts["distance_bound_is_conservative"]["factor_least"], min(factors))
        for fact, name, part in (
            ("closest_n", "closest_n", "values"),
            ("closest_n_low", "closest_n", "low"),
            ("closest_ratio_high", "closest_ratio", "high"),
            ("critical_p", "critical_n", "p"),
            ("critical_n_paper", "critical_n_paper", "values"),
            ("ks_p", "critical_ks_d", "p"),
        ):
            self.assertEqual(facts["critical_n_is_small"][fact], metrics[name][part][-1], fact)

    def test_a_finished_scan_is_judged_as_the_whole_run_is(self) -> None:
        self.tiny(128)
        model = ("model", "--tokens", "ids.txt")
        whole = self.succeed("reproduce", "limits", *model, "--out", "whole")
        again = self.succeed("reproduce", "limits", "--results", "whole", "--out", "again")
        claims = validate(self.folder / "whole/results.json")["claims"]
        judged = validate(self.folder / "again/results.json")
        self.assertEqual(judged["claims"], claims)
        self.assertEqual(judged["command"], "reproduce limits")
        self.assertEqual(judged["settings"]["results"], "whole")
        self.assertEqual(again.out.replace("again/", "whole/"), whole.out)
        self.assertTrue((self.folder / "again/report.html").exists())

        # A scan with its settings has all but the pieces of the text and the other temperatures.
        self.succeed("scan", *model, *sizes_of(self.read("whole/results.json")), "--out", "scan")
        again = ("reproduce", "limits", "--results", "scan/results.json", "--json", "--out", "c")
        judged = json.loads(self.succeed(*again).out)
        self.assertEqual(len(judged["claims"]), LIMITS)
        for claim, other in zip(judged["claims"], claims):
            if "warns" not in claim["name"] and claim["name"] not in OF_TEMPERATURES:
                for key in ("name", "test", "facts"):
                    self.assertEqual(claim[key], other[key])
                # One place is no proof, whether it was also measured without the sinks or not.
                if other["verdict"] not in ("not tested", "cannot tell"):
                    self.assertTrue(claim.get("theorem"), claim)
                here = re.sub(
                    r" It (holds|does not hold) here, .*| It turns with the sinks: .*", "", claim["measured"]
                )
                self.assertTrue(other["measured"].startswith(here), (claim, other))
                continue
            self.assertEqual(claim["verdict"], "not tested")
            self.assertIn("reproduce limits MODEL --text FILE does", claim["measured"])

    def test_a_scan_that_lacks_something_says_what_to_scan_with(self) -> None:
        self.tiny(128)
        scan = ("scan", "model", "--tokens", "ids.txt", "--lengths", "128", "--top-n", "7")
        self.succeed(*scan, "--measures", "weights", "--out", "scan")
        printed = " ".join(self.succeed("reproduce", "limits", "--results", "scan").out.split())
        for advice in (
            "scan with --top-n 5",
            "scan with --top-share 0.1 and --lengths up to 256",
            "scan with --top-n 20,50,100",
            "scan with --measures distance",
            "scan with --measures coverage",
            "scan with --measures sensitivity",
            "--temperatures 0.01,0.02,0.05,0.1 and --epsilons 0.001",
        ):
            self.assertIn(advice, printed)
        self.assertNotIn("::", printed)

    def test_a_short_context_tells_what_it_cannot(self) -> None:
        copy_golden("gpt2/plain", self.folder / "model")  # 2 layers of 4 heads, 128 positions
        self.ids(128)
        done = self.succeed("reproduce", "limits", "model", "--tokens", "ids.txt", "--out", "out")
        self.assertIn("the paper's contexts go to 1024; model or text end at 128", done.err)
        found = verdicts(validate(self.folder / "out/results.json"))
        self.assertEqual(found["critical_n_is_small"], "not tested", "8 heads")
        self.assertEqual(found["returns_diminish"], "not tested")
        self.assertEqual(found["distance_grows_linearly"], "not tested", "32, 64, 128")

    def test_answers_of_tasks(self) -> None:
        """Half of the cases right, each case against a scan of it alone."""
        self.tiny(128)
        right = likeliest(self, "model", [20, 60] * 10)
        mixed = [case | {"answer": [1, 2]} if k % 4 > 1 else case for k, case in enumerate(right)]
        write_cases(self, "mixed.jsonl", mixed)
        run = ("reproduce", "limits", "model", "--tokens", "ids.txt", "--quiet", "--json", "--out", "out")
        results = json.loads(self.succeed(*run, "--tasks", "mixed.jsonl").out)
        metrics, claims = results["metrics"], {claim["name"]: claim for claim in results["claims"]}
        self.assertEqual(results["metrics"]["does_task"]["values"], [None, 1])
        self.assertEqual([task["task"] for task in results["text"]["tasks"]], ["mixed"])
        self.assertEqual(metrics["answer_right"]["values"], [None, 0.5])
        for name in OF_TASKS:
            self.assertNotEqual(claims[name]["verdict"], "not tested", claims[name])
        facts = {f["name"]: f["value"] for f in claims["answers_are_lost_with_context"]["facts"]}
        self.assertEqual((facts["cases"], facts["right_shortest"], facts["right_longest"]), (20, 0.5, 0.5))
        write_cases(self, "one.jsonl", mixed[1:2])
        scan = ("scan", "model", "--tasks", "one.jsonl", "--lengths", 61, "--queries", 32, "--top-n", 20)
        one = json.loads(self.succeed(*scan, "--json", "--quiet").out)["metrics"]
        for name, of_scan in (
            ("case_entropy", "entropy_normalized"),
            ("case_selected", "effective_tokens"),
            ("case_separability", "separability_excess"),
        ):
            heads = [flat(head)[0] for layer in one[of_scan]["values"] for head in layer]
            self.assertAlmostEqual(metrics[name]["values"][1], sum(heads) / len(heads), 9, name)
        self.assertAlmostEqual(metrics["case_answer_loss"]["values"][1], one["loss"]["values"][0][0], 9)
        self.assertEqual(metrics["case_tokens"]["values"][1], 61)
        again = self.succeed("reproduce", "limits", "--results", "out", "--json", "--out", "b").out
        self.assertEqual(json.loads(again)["claims"], results["claims"])

    def test_pieces_of_the_text(self) -> None:
        """16 pieces of 128 tokens out of two texts, each against a scan of that piece alone."""
        copy_golden("gpt2/plain", self.folder / "model")
        draw = random.Random(4)
        texts = [[draw.randrange(41) for _ in range(count)] for count in (10 * 128 + 100, 6 * 128)]
        for name, text in zip("ab", texts):
            self.write(f"{name}.txt", " ".join(map(str, text)))
        run = ("reproduce", "limits", "model", "--quiet", "--json", "--tokens")
        results = json.loads(self.succeed(*run, "a.txt", "b.txt").out)
        self.assertEqual(results["coords"]["piece"], list(range(16)))
        self.assertEqual(results["settings"]["piece_tokens"], 128)
        for name in ("entropy_warns", "falling_separability_warns"):
            self.assertNotEqual(verdicts(results)[name], "not tested")
        values = {
            name: results["metrics"][name]["values"]
            for name in ("entropy_fall", "separability_fall", "loss_first_half", "loss_second_half")
        }
        for piece, text, at in ((0, 0, 0), (9, 0, 9), (10, 1, 0), (15, 1, 5)):
            tokens = texts[text][at * 128 : (at + 1) * 128]
            self.write("piece.txt", " ".join(map(str, tokens)))
            few = "--lengths 64,128 --measures weights,separability,model --top-n 20 --json"
            alone = json.loads(self.succeed("scan", "model", "--tokens", "piece.txt", *few.split()).out)
            position = alone["coords"]["position"]
            for name, metric in (
                ("entropy_fall", "entropy_normalized_with_sinks"),
                ("separability_fall", "separability_excess"),
            ):
                by_position = alone["metrics"][f"{metric}_by_position"]["values"]
                heads = [head for layer in by_position for head in layer]
                one = [[x[0] if isinstance(x, list) else x for x in head] for head in heads]
                falls = [head[position.index(32)] - head[position.index(64)] for head in one]
                self.assertAlmostEqual(values[name][piece], sum(falls) / len(falls), msg=name)
            ((first, whole),) = alone["metrics"]["loss"]["values"]
            self.assertAlmostEqual(values["loss_first_half"][piece], first)
            halves = [values[f"loss_{half}_half"][piece] for half in ("first", "second")]
            self.assertAlmostEqual(63 * halves[0] + 64 * halves[1], 127 * whole)

        # One token less of a piece: there are 15.
        self.write("b.txt", " ".join(map(str, texts[1][:-1])))
        fewer = json.loads(self.succeed(*run, "a.txt", "b.txt", "--force").out)
        self.assertNotIn("piece", fewer["coords"])
        self.assertEqual(verdicts(fewer)["entropy_warns"], "not tested")

    def test_what_is_measured_at_other_temperatures(self) -> None:
        """Beside scans with these normalizers."""
        self.tiny(128)
        model = ("model", "--tokens", "ids.txt", "--json")
        results = json.loads(self.succeed("reproduce", "limits", *model).out)
        temperatures = results["coords"]["judged_temperature"]
        self.assertEqual(temperatures, [0.01, 0.02, 0.05, 0.1, 1, 10])

        def of_scan(metric: str, temperature: float, field: str = "values") -> list[float]:
            scan = ("--normalizer", f"softmax:t={temperature}", "--lengths", "128", "--top-n", "20")
            found = json.loads(self.succeed("scan", *model, *scan).out)["metrics"][metric][field]
            heads = [h[0] for layer in found for h in layer]
            return [h[0] if isinstance(h, list) else h for h in heads]

        measured = results["metrics"]
        for name, metric in (
            ("norm_at_temperature", "jacobian_spectral"),
            ("entropy_at_temperature", "entropy_normalized_with_sinks"),
        ):
            for t in (0.1, 1, 10):
                place = temperatures.index(t)
                heads = [h[place] for layer in measured[name]["values"] for h in layer]
                self.assertEqual(heads, of_scan(metric, t), name)
        errors = [h[0] for layer in measured["norm_at_temperature"]["stderr"] for h in layer]
        self.assertEqual(errors, of_scan("jacobian_spectral", 0.01, "stderr"))
        heads = [h for layer in measured["cold_separability"]["values"] for h in layer]
        self.assertEqual(heads, of_scan("separability_excess", 0.1))
        for name in OF_TEMPERATURES - {"cold_inflates_the_spread"}:  # 128 rows have no standard error
            self.assertNotEqual(verdicts(results)[name], "not tested", name)

    def test_json_is_the_file_and_threads_do_not_matter(self) -> None:
        self.tiny(128)
        arguments = ("reproduce", "limits", "model", "--tokens", "ids.txt")
        text = self.succeed(*arguments, "--json", "--threads", "1", "--out", "a").out
        validate_text(text, "what --json prints")
        one, other = json.loads(text), self.saved(*arguments, "--quiet", "--threads", "3", out="b")[0]
        for key in ("metrics", "claims", "coords", "flags"):
            self.assertEqual(one[key], other[key], key)

    def test_interrupted(self) -> None:
        make_gpt2(self.folder / "model", layers=24, heads=2, width=16, positions=320)
        self.ids(320)
        words = ("reproduce", "limits", "model", "--tokens", "ids.txt", "--out", "out")
        terminal = Terminal(*words, cwd=self.folder)
        terminal.read_until(r"measuring layer ([2-9]|\d\d)\b")
        terminal.process.send_signal(signal.SIGINT)
        self.assertEqual(terminal.finish(), INTERRUPTED, terminal.shown)
        partial = validate(self.folder / "out/results.json")
        self.assertTrue(partial["partial"])
        self.assertNotIn("claims", partial)

    def test_what_was_drawn_stays_until_results_take_its_place(self) -> None:
        make_gpt2(self.folder / "model", layers=1, heads=2, width=16, positions=64)
        self.ids(64)
        (self.folder / "out/figures").mkdir(parents=True)
        drawn = [
            self.write("out/report.html", "a page"),
            self.write("out/figures/a.svg", '<svg data-by="headgauge"/>'),
        ]
        command = ("reproduce", "limits", "model", "--tokens", "ids.txt", "--out", "out")
        self.refuse(RESOURCE, *command, says=("results.json",), limits={resource.RLIMIT_FSIZE: 512})
        self.assertTrue(all(path.exists() for path in drawn))
        self.succeed(*command, "--quiet")
        self.assertFalse(drawn[1].exists())


class Tokens(CommandTest):
    def test_with_a_model_and_again(self) -> None:
        arguments = ("reproduce", "tokens", *DEMO, "--lengths", "128", *SMALL)
        done = self.succeed(*arguments)
        folder = self.folder / "reproduce-tokens"
        results = validate(folder / "results.json")
        self.assertEqual(len({claim["name"] for claim in results["claims"]}), TOKENS)
        self.assertEqual(results["settings"]["experiment"], "tokens")
        self.assertEqual(results["settings"]["lengths"], 128)
        self.assertNotIn("model_entropy", results["metrics"])
        for claim in results["claims"]:
            self.assertIn(" ".join(claim["measured"].split()), " ".join(done.out.split()))
        # Each experiment's own file is what its own command writes.
        own = ("converge", "--synthetic", "gaussian", "--radii", "0.25,0.5,0.75,1,1.5,2", *SMALL, "--json")
        alone = json.loads(self.succeed(*own).out)
        kept = validate(folder / "gaussian/results.json")
        self.assertEqual(kept["metrics"], alone["metrics"])
        self.assertEqual(kept["settings"], {k: alone["settings"].get(k) for k in kept["settings"]})
        # So are those in which heads see random keys.
        random_keys = "bigbird:window={},random={},global=0".format
        patterns = ",".join(random_keys(window, n) for window in (1, 32) for n in (4, 8, 16, 32, 64))
        lengths = ",".join(str(64 + 8 * batch) for batch in range(9))
        each_head = f"--lengths 128 --measures model --each head --pattern {random_keys(1, 32)}"
        for part, command, options in (
            ("model", "converge", "--lengths 128 --replicates 4 --measures weights"),
            ("all_heads", "compare", f"--lengths {lengths} --probe none --pattern {patterns}"),
            ("each_head", "compare", each_head),
        ):
            alone = json.loads(self.succeed(command, *DEMO, *options.split(), "--json").out)
            self.assertEqual(self.read(f"reproduce-tokens/{part}/results.json")["metrics"], alone["metrics"])

        # Again: nothing is measured anew, and nothing else is said.
        before = {p: p.stat().st_mtime_ns for p in folder.glob("*/results.json")}
        self.assertEqual(len(before), 8)
        again = self.succeed(*arguments, "--threads", "1")
        self.assertEqual(again.out, done.out)
        self.assertEqual({p: p.stat().st_mtime_ns for p in before}, before)
        same = validate(folder / "results.json")
        self.assertEqual(same["metrics"], results["metrics"])
        self.assertEqual(same["claims"], results["claims"])
        # Another seed: all are.
        self.succeed(*arguments, "--seed", "1", "--force")
        for path, time in before.items():
            self.assertNotEqual(path.stat().st_mtime_ns, time, path)
        # Another length: only what is of the model.
        before = {p: p.stat().st_mtime_ns for p in before}
        shorter = ["64" if part == "128" else part for part in arguments]
        self.succeed(*shorter, "--seed", "1", "--force")
        changed = {p.parent.name for p, t in before.items() if p.stat().st_mtime_ns != t}
        self.assertEqual(changed, {"model", "all_heads", "each_head"})

    def test_without_a_model(self) -> None:
        results = self.saved("reproduce", "tokens", *SMALL)[0]
        self.assertFalse((self.folder / "out/model").exists())
        found = verdicts(results)
        self.assertEqual(len(found), TOKENS)
        for name in ("error_constant_predicts", *(name for name in found if name.startswith("model_"))):
            self.assertEqual(found[name], "not tested", name)
        self.assertEqual(results["model"]["family"], "synthetic")

    def test_an_interrupted_run_goes_on(self) -> None:
        arguments = ("reproduce", "tokens", "--dimension", "20", "--grid", "1000,1500", "--replicates", "20")
        whole = json.loads(self.succeed(*arguments, "--json", "--out", "whole").out)
        env = environment(HEADGAUGE_JOURNAL_SECONDS="0")
        terminal = Terminal(*arguments, "--out", "out", cwd=self.folder, env=env)
        terminal.read_until(r"gaussian.*\b(9|1\d) ?%")
        terminal.process.send_signal(signal.SIGINT)
        self.assertEqual(terminal.finish(), INTERRUPTED, terminal.shown)
        self.assertRegex(
            terminal.messages()[-1],
            r"interrupted; \d+ of 24 points of gaussian were finished and saved in "
            r"out/results.json, marked partial",
        )
        self.assertTrue((self.folder / "out/journal/part-1-of-1.journal").exists())
        self.assertFalse((self.folder / "out/gaussian").exists())
        self.assertFalse((self.folder / "out/sphere").exists())
        partial = validate(self.folder / "out/results.json")
        self.assertTrue(partial["partial"])
        self.assertNotIn("claims", partial)
        self.succeed(*arguments, "--out", "out")
        self.assertFalse((self.folder / "out/journal").exists())
        results = validate(self.folder / "out/results.json")
        self.assertEqual(results["metrics"], whole["metrics"])
        self.assertEqual(results["claims"], whole["claims"])


class Refused(CommandTest):
    def test_command_lines_that_make_no_sense(self) -> None:
        self.refuse_each(
            (2, "", "limits, tokens", "headgauge reproduce --help"),
            (2, "limit", '"limit" (did you mean limits?)'),
            (2, "--full", '"--full"'),
            (2, "limits", "MODEL", "headgauge reproduce limits --help"),
            (2, "limits model --full", '"--full"'),
            (2, "limits model --results x", "--results"),
            (2, "limits --lengths 64 --results x", "--results"),
            (2, "limits --text x --results x", "--results"),
            (2, "limits model other", '"other"'),
            (2, "tokens --text x", "--text", "MODEL"),
            (2, "tokens --tokens x", "--tokens", "MODEL"),
            (2, "tokens --lengths 64", "--lengths", "MODEL"),
            (2, "tokens --grid 5,4", "5, 4"),
            (2, "tokens --length 64", "did you mean --lengths?"),
            base=("reproduce",),
        )
        self.refuse(2, "reproduce", "tokens", "--replicates", "1", says="--replicates", form=False)

    def test_files_that_are_not_what_they_should_be(self) -> None:
        self.tiny(128)
        self.ids(100, name="less.txt")
        self.write("other.json", json.dumps({"format": "headgauge.results/1"}))
        self.succeed("reproduce", "tokens", *SMALL, "--out", "made")
        self.write("out/gaussian/results.json", "{")
        self.refuse_each(
            # Reported before anything is drawn.
            (3, "tokens nowhere --text x", "nowhere"),
            (3, "tokens model --tokens ids.txt --lengths 32", "at least 64 tokens"),
            (3, "tokens model --tokens ids.txt --lengths 129", "--lengths: expected at most 128"),
            (3, "tokens model --tokens less.txt --lengths 101", "--lengths of at most 100"),
            (2, "limits model", "--text"),
            (3, "limits --results other.json", "other.json"),
            (3, "limits --results made", "made/results.json", "a finished scan", "reproduce tokens"),
            (3, " ".join(("tokens", *SMALL, "--out out")), "delete out/gaussian/results.json to start again"),
            base=("reproduce",),
        )
