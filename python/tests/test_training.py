"""examples/training: what it draws, and that it trains the same bits again; and examples/python/checkpoints.py."""

import contextlib
import io
import itertools
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from needs_torch import MISSING, TorchTest, torch
from test_live import ROOT

FOLDER = ROOT / "examples/training"
sys.path[:0] = [str(FOLDER), str(ROOT / "examples/python")]

if not MISSING:
    import checkpoints
    import decoder
    import forecast
    import logs
    import rules
    import run
    import tasks
    import torch
    import train
    from data import Deep, Fresh, Longer, Tasks, Text

    import headgauge


def program(*words: Any) -> str:
    command = [sys.executable, "-W", "ignore", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return done.stdout


class Checkpoints(TorchTest):
    def test_each_metric_has_a_line_of_what_changed(self) -> None:
        said = io.StringIO()
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(checkpoints, "STEPS", (0, 5)):
            with contextlib.redirect_stdout(said):
                checkpoints.main(Path(folder))
            self.assertTrue((Path(folder) / "report.html").exists())
        lines = [line for line in said.getvalue().splitlines() if line.startswith("| `")]
        self.assertEqual({line.split("`")[1] for line in lines}, set(checkpoints.METRICS))
        self.assertIn(" (5)", said.getvalue())


class Drawn(TorchTest):
    """Each answer follows from the facts, found here by reading the text as a person would."""

    def texts(self, task: str, length: int, pairs: int | None) -> Any:
        drawn = tasks.texts(task, length, 5, torch.Generator().manual_seed(3), pairs)
        first = tasks.first_asked(drawn)
        self.assertEqual(drawn.ids.shape, (5, length))
        self.assertGreater(int(drawn.answers.sum()), length // 8)
        for row, ids in enumerate(drawn.ids.tolist()):
            end = ids.index(tasks.SEPARATOR)
            asked = [(ids[k - 1], ids[k]) for k in range(end + 2, length)]
            for k in range(end + 2, length):
                is_new = asked.index((ids[k - 1], ids[k])) == k - end - 2
                self.assertEqual(bool(first[row, k]), bool(drawn.answers[k]) and is_new)
            yield ids[1:end], ids, [k for k in range(length) if drawn.answers[k]]

    def test_answers_follow_from_facts(self) -> None:
        for length, pairs in ((64, None), (64, 2), (64, 3), (1024, None)):
            for facts, ids, at in self.texts("copy", length, pairs):
                for k in at:
                    self.assertEqual(ids[k], facts[facts.index(ids[k - 1]) + 1])
            for facts, ids, at in self.texts("recall", length, pairs):
                known = dict(zip(facts[::2], facts[1::2], strict=True))
                for k in at:
                    self.assertEqual(ids[k], known[ids[k - 1]])
            for facts, ids, at in self.texts("chains", length, pairs):
                known = dict(zip(facts[::2], facts[1::2], strict=True))
                begin = ids.index(tasks.SEPARATOR) + 1
                for k in at:
                    self.assertEqual(ids[k], known[ids[k - 1]])
                    self.assertEqual(ids[k] in known, (k - begin) % 3 == 1)  # a name, then its value

    def test_scattered_facts_are_asked_for_once(self) -> None:
        for length in (64, 1024):
            drawn = tasks.scattered(length, 5, torch.Generator().manual_seed(3), 15)
            self.assertEqual(drawn.ids.shape, (5, length))
            self.assertEqual(int(drawn.answers.sum()), 15)
            for ids in drawn.ids.tolist():
                end = ids.index(tasks.SEPARATOR)
                facts, asked = ids[1:end], [k for k in range(length) if drawn.answers[k]]
                self.assertEqual(len({ids[k] for k in asked}), 15)
                for k in asked:
                    self.assertEqual(facts.count(ids[k - 1]), 1)
                    self.assertEqual(facts[facts.index(ids[k - 1]) + 1], ids[k])

    def test_facts_are_all_different(self) -> None:
        for task in ("copy", "recall"):
            for facts, _, _ in self.texts(task, 1024, None):
                self.assertEqual(len(set(facts)), len(facts))

    def test_first_answers_count_in_pieces_of_all_sizes(self) -> None:
        ids, counts = Tasks().test("copy", 1024, 8, torch.Generator().manual_seed(3))
        sizes = []
        for row in range(0, 8, 2):
            end = ids[row].tolist().index(tasks.SEPARATOR)
            drawn = tasks.Texts(ids[row : row + 1], torch.zeros(1024, dtype=torch.bool))
            drawn.answers[end + 2 :] = True
            facts = ids[row].tolist()[1:end]
            follows = [
                ids[row, k] == facts[(facts.index(ids[row, k - 1]) + 1) % len(facts)]
                for k in range(end + 2, 1024)
            ]
            sizes.append(1 + next(k for k, within in enumerate(follows) if not within))
            self.assertFalse(bool((counts[row] & ~tasks.first_asked(drawn)[0]).any()))
        self.assertEqual(sizes, list(tasks.PIECES))

    def test_a_text_is_tested_on_its_end_where_the_context_is_long(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "text"
            path.write_bytes(bytes(range(250)) * 40)  # a byte says its place but for whole rounds
            text = Text(path)
            ids, counts = text.test("text", 64, 50, torch.Generator().manual_seed(0))
            learnt, all_but_first = text.batch(torch.Generator().manual_seed(0))
        self.assertEqual(counts.sum(dim=1).tolist(), [32] * 50)
        self.assertTrue(bool(counts[:, 32:].all()))
        self.assertEqual(learnt.shape, (text.texts, text.length))
        self.assertEqual(int(all_but_first.sum()), text.texts * (text.length - 1))
        self.assertTrue(bool(((ids[:, 1:] - ids[:, :-1]) % 250 == 1).all()))

    def test_the_end_of_a_text_is_not_learnt(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "text"
            path.write_bytes(b"a" * 9000 + b"b" * 1000)
            text = Text(path)
            self.assertEqual(set(text.batch(torch.Generator())[0].flatten().tolist()), {ord("a")})
            ids, _ = text.test("text", 64, 50, torch.Generator())
            self.assertEqual(set(ids.flatten().tolist()), {ord("b")})

    def test_a_case_ends_before_its_answer(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "cases.jsonl"
            forecast.write_cases(Tasks(), 1, 4, path)
            cases = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        self.assertEqual([case["task"] for case in cases], [kind for kind in tasks.TASKS for _ in range(4)])
        for case in cases:
            ids, (wanted,) = case["prompt"], case["answer"]
            facts = ids[1 : ids.index(tasks.SEPARATOR)]
            places = [k for k, word in enumerate(facts[:-1]) if word == ids[-1]]
            self.assertIn(wanted, [facts[k + 1] for k in places])
            asked = ids[ids.index(tasks.SEPARATOR) + 1 :]
            self.assertNotIn((ids[-1], wanted), list(itertools.pairwise(asked)))

    def test_texts_that_test_once_more_are_others(self) -> None:
        def tested(data: Tasks) -> Any:
            with mock.patch.object(train, "answer", lambda model, rule, batch: batch[0]):
                of_kinds = train.test(None, rules.RULES["logn"], data, 1, data.test_seed)
            return of_kinds["recall"]

        with tempfile.TemporaryDirectory() as folder:
            cases = []
            for data in (Tasks(), Fresh()):
                forecast.write_cases(data, 1, 4, Path(folder) / data.name)
                cases.append((Path(folder) / data.name).read_text("utf-8").splitlines())
        self.assertFalse(set(cases[0]) & set(cases[1]))
        first, again = (set(map(tuple, tested(data).tolist())) for data in (Tasks(), Fresh()))
        self.assertFalse(first & again)
        for kind in (Longer, Deep):
            self.assertTrue(torch.equal(tested(kind()), tested(Tasks())))

    def test_foretells_of_the_rules_asked_for(self) -> None:
        job = train.Run("fresh", "softmax", 3e-3, 3)
        with tempfile.TemporaryDirectory() as folder:
            model = decoder.decoder(rules.RULES["softmax"], 3, Fresh())
            torch.save({"model": model.state_dict()}, Path(folder) / f"{job.name}.model")
            looks = json.dumps({"looks": [{"weight_induction_with_sinks": [[0.1, None], [0.9, 0.2]]}]})
            (Path(folder) / f"{job.name}.json").write_text(looks, "utf-8")
            found = forecast.forecast(job, Path(folder), 1, ("logn", "entmax"))
            self.assertEqual(forecast.forecast(job, Path(folder)), found)
        self.assertEqual((found["data"], list(found["rules"])), ("fresh", ["softmax", "logn", "entmax"]))
        self.assertEqual(found["rules"]["softmax"]["loss_change_8"], 0.0)
        self.assertAlmostEqual(found["rules"]["logn"]["kept_8"], forecast.kept("logn", 0.9, 64, 8), places=4)

    def test_a_key_keeps_what_the_definition_leaves_of_it(self) -> None:
        found = forecast.kept("softmax", 0.9, 64, 8)
        self.assertAlmostEqual(found, 0.9 / (0.9 + 0.1 * 511 / 63), places=4)
        found = forecast.kept("sparsemax", 0.7, 64, 8)  # 1/n + g (n - 1)/n of a gap g
        self.assertAlmostEqual(found, 1 / 512 + (0.7 - 1 / 64) * 64 / 63 * 511 / 512, places=4)


def learner(folder: str, log_of: Any, trained: list[Any]) -> Any:
    """What trains runs: it writes the log that each of them is said to have."""

    def learn(runs: list[Any]) -> None:
        for job in runs:
            trained.append(job)
            (Path(folder) / f"{job.name}.json").write_text(json.dumps(log_of(job)), "utf-8")

    return learn


class Trained(TorchTest):
    def test_a_learned_scale_is_that_of_its_definition(self) -> None:
        for kind, most in (("log", None), ("log", 3), ("power", None), ("power", 3)):
            queries = torch.nn.Linear(8, 6, bias=False)
            scaled = decoder.ScaledQueries(queries, 2, kind, 64, most)
            hidden = torch.randn(1, 5, 8, generator=torch.Generator().manual_seed(1))
            found = scaled(hidden).detach().numpy()[0]
            scales = np.empty((5, 2))
            for t in range(5):
                log_n = np.log(min(t + 1, most or 5))
                for head in range(2):
                    if kind == "log":
                        scales[t, head] = float(scaled.s[head]) * log_n
                    else:
                        beta = np.log1p(np.exp(float(scaled.beta(hidden)[0, t, head])))
                        gamma = 2 * np.tanh(float(scaled.gamma(hidden)[0, t, head]))
                        scales[t, head] = 1 + (beta * log_n**gamma if t > 0 else 0)
                    of_head = slice(3 * head, 3 * head + 3)
                    expected = scales[t, head] * queries(hidden).detach().numpy()[0, t, of_head]
                    np.testing.assert_allclose(found[t, of_head], expected, rtol=1e-5)
            of_heads = scaled.last.expand(*hidden.shape[:2], 2).numpy().mean(axis=(0, 1))
            np.testing.assert_allclose(of_heads, scales.mean(axis=0), rtol=1e-5)

    def test_no_head_meets_a_distance_that_it_was_not_trained_for(self) -> None:
        """The first layer sees a window, the second all and no positions."""
        data = Tasks()
        model = decoder.decoder(rules.RULES["softmax"], 0, data).eval()
        attentions = [layer.self_attn for layer in model.model.layers]
        self.assertEqual([bool(one.use_rope) for one in attentions], [True, False])
        ids = tasks.texts("recall", 128, 1, torch.Generator().manual_seed(0)).ids
        with decoder.use(model, rules.RULES["softmax"]):
            scan = headgauge.scan(model, ids[0].numpy(), lengths=[128], measures=["weights"])
        effective = scan["effective_tokens_with_sinks"].values[..., -1]
        self.assertLess(effective[0].max(), data.window)
        self.assertGreater(effective[1].min(), data.window)

    def test_an_interrupted_run_has_the_same_numbers(self) -> None:
        job, data, steps = train.Run("tasks", "asentmax", 3e-3, 1), Tasks(), 8
        own = train.loss_of
        with mock.patch.object(train, "TIMES", (1, 2)), tempfile.TemporaryDirectory() as whole, \
                tempfile.TemporaryDirectory() as parts:  # fmt: skip
            expected = train.train(job, data, Path(whole), steps)
            calls = 0

            def fails(*given: Any) -> Any:
                nonlocal calls
                calls += 1
                if calls == 6:
                    raise KeyboardInterrupt
                return own(*given)

            with mock.patch.object(train, "loss_of", fails), self.assertRaises(KeyboardInterrupt):
                train.train(job, data, Path(parts), steps)
            self.assertTrue((Path(parts) / f"{job.name}.pt").exists())
            self.assertTrue((Path(parts) / f"{job.name}.monitor").exists())
            self.assertEqual(train.train(job, data, Path(parts), steps), expected)
            self.assertEqual([step for step, *_ in expected["curve"]], list(range(8)))
            self.assertEqual(len(expected["looks"]), 7)
            self.assertEqual(sorted(path.suffix for path in Path(parts).iterdir()), [".json", ".model"])

    def test_a_loss_that_is_no_number_ends_a_run(self) -> None:
        own, job = train.loss_of, train.Run("tasks", "logn", 3e-3, 1)
        for step in (1, 4):  # the Monitor measures at step 4, after 64 / 16 steps
            calls = 0

            def loss(model: Any, texts: Any, last: int = step) -> Any:
                nonlocal calls
                calls += 1
                return own(model, texts) * (float("nan") if calls == last else 1.0)

            with tempfile.TemporaryDirectory() as folder, mock.patch.object(train, "loss_of", loss):
                log = train.train(job, Tasks(), Path(folder), 64)
            self.assertEqual(log["failed"], step)
            self.assertFalse(logs.learnt(log))

    def test_measures_what_headgauge_measures_of_the_rule(self) -> None:
        rule, data = rules.RULES["entmax-logn"], Tasks()
        model = decoder.decoder(rule, 0, data)
        seen = train.measure(model, rule, data, 2, lengths=[16, 64], measures=["weights", "separability"])
        self.assertEqual(seen.settings["normalizer"], "entmax-logn")
        entropy = train.values(seen, ("entropy_normalized_with_sinks",))["entropy_normalized_with_sinks"]
        np.testing.assert_allclose(entropy, seen["entropy_normalized_with_sinks"].values[..., -1], atol=1e-5)
        excess = train.values(seen, ("separability_excess_with_sinks",))["separability_excess_with_sinks"]
        top_n = seen["separability_excess_with_sinks"].dims.index("top_n")
        expected = seen["separability_excess_with_sinks"].values.take(2, axis=top_n)[..., -1]
        np.testing.assert_allclose(np.array(excess, dtype=float), expected, atol=1e-5)

    def test_the_largest_jacobian_is_that_before_the_learned_scale(self) -> None:
        model = decoder.decoder(rules.RULES["ssmax"], 0, Tasks())
        self.assertEqual(decoder.scales(model), [[1.0] * 4] * 2)
        queries = [layer.self_attn.q_proj for layer in model.model.layers]
        for place, each in enumerate(queries):
            each.last = torch.full((3, 4), 2.0 + place)
        record = {"metrics": {"jacobian_spectral": [[0.5, 0.1, None, 0.2], [0.3, 0.1, 0.1, 0.1]]}}
        self.assertEqual(train.largest_jacobian(model, record), 1.0)

    def test_the_rate_of_the_lowest_loss_is_taken_and_those_beyond_an_end_are_tried(self) -> None:
        losses = {
            "softmax": {1e-3: 2.0, 2e-3: 1.0, 4e-3: None}, "ssmax": {0.5e-3: 1.5, 1e-3: 1.0, 2e-3: 1.5, 4e-3: 2.0},
            "logn": {1e-3: 2.0, 2e-3: 1.5, 4e-3: 1.0, 8e-3: 0.5, 16e-3: 0.7},
        }  # fmt: skip
        trained: list[Any] = []

        def log_of(job: Any) -> dict[str, Any]:
            loss = losses[job.rule][job.rate]
            return {"failed": 3} if loss is None else {"choice": loss}

        rules, rates = tuple(losses), (2e-3, 1e-3, 4e-3)
        with tempfile.TemporaryDirectory() as folder:
            learn = learner(folder, log_of, trained)
            found = run.best_rates(Path(folder), "tasks", rules, rates, 0, learn)
        self.assertEqual(found, {"softmax": 2e-3, "ssmax": 1e-3, "logn": 8e-3})
        further = [("ssmax", 0.5e-3), ("logn", 8e-3), ("logn", 16e-3)]
        expected = [*((rule, rate) for rate in rates for rule in rules), *further]
        self.assertEqual([(job.rule, job.rate) for job in trained], expected)

    def test_a_seed_that_does_not_learn_is_repeated_at_half_the_rate(self) -> None:
        trained: list[Any] = []
        ends = {0: {"choice": 2.9}, 1: {"choice": 3.1}, 2: {"failed": 7}}
        seeds = [train.Run("tasks", "logn", 2e-3, seed) for seed in range(3)]
        with tempfile.TemporaryDirectory() as folder:
            learn = learner(folder, lambda job: {"curve": [[0, 6.0, 1.0]], **ends[job.seed]}, trained)
            run.train_or_retry(Path(folder), seeds, learn)
            run.train_or_retry(Path(folder), seeds[2:], learn, (2, 0.5))
        expected = ["0.002-0", "0.002-1", "0.002-2", "0.001-1", "0.001-2", "0.002-2", "0.004-2", "0.001-2"]
        self.assertEqual([job.name for job in trained], [f"tasks-logn-{each}" for each in expected])

    def test_the_quick_run_makes_tables(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            said = program(FOLDER / "run.py", "--quick", "--out", folder)
            self.assertEqual(len(said.splitlines()), 3, said)
            first = {path.name: path.stat().st_mtime_ns for path in Path(folder).glob("*.json")}
            program(FOLDER / "run.py", "--quick", "--out", folder)  # nothing is trained again
            self.assertEqual(
                first, {path.name: path.stat().st_mtime_ns for path in Path(folder).glob("*.json")}
            )
            logs = Path(folder) / "logs.jsonl"
            found = program(FOLDER / "tables.py", "--collect", folder, "--logs", logs)
            for name in ("tasks right", "tasks heads", "tasks rates", "tasks forming"):
                self.assertIn(f"\n{name}\n\n| rule |", found)
            log = json.loads((Path(folder) / "tasks-entmax-logn-0.003-0.json").read_text("utf-8"))
            self.assertEqual(set(log["test"]), {"1", "2", "4", "8", "16"})
            self.assertLess(log["curve"][-1][1], log["curve"][0][1])
