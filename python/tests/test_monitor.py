"""Training is what it is without a monitor, and records are what a scan says."""

import json
import multiprocessing
import os
import tempfile
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from needs_torch import TorchTest, torch, transformers
from test_live import make as any_model

import headgauge
from headgauge import errors


def make() -> Any:
    """With dropout, so that a draw too many would be seen."""
    torch.manual_seed(0)
    config = transformers.GPT2Config(vocab_size=97, n_embd=32, n_layer=2, n_head=4, n_positions=128)
    return transformers.GPT2LMHeadModel(config).train()


def watch(model: Any, **options: Any) -> Any:
    """A monitor of the weights at every step."""
    return headgauge.Monitor(model, **{"every": 1, "measures": ["weights"], **options})


def trained_by_the_trainer(test: unittest.TestCase, steps: int, *callbacks: Any) -> None:
    try:
        import accelerate  # noqa: F401
    except ImportError:
        test.skipTest("accelerate is not installed")
    with tempfile.TemporaryDirectory() as folder:
        data = [{"input_ids": row, "labels": row} for row in batch(1)]
        options = {"per_device_train_batch_size": 2, "report_to": [], "save_strategy": "no", "use_cpu": True}
        given = transformers.TrainingArguments(folder, max_steps=steps, **options)
        transformers.Trainer(make(), given, train_dataset=data, callbacks=[*callbacks]).train()


def batch(step: int, length: int = 64) -> Any:
    return torch.randint(3, 97, (4, length), generator=torch.Generator().manual_seed(step))


def train(model: Any, steps: int, after: Any = None, called: Any = None, length: int = 64) -> None:
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    for step in range(1, steps + 1):
        ids = batch(step, length)
        (model if called is None else called)(input_ids=ids, labels=ids).loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if after is not None:
            after(step)


TAGS = {"scalar": "headgauge", "histogram": "headgauge_heads", "image": "headgauge_map"}


class Writer:
    """What is asked of TensorBoard's SummaryWriter."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str, int]] = []

    def add_scalar(self, tag: str, value: float, step: int) -> None:
        self.calls.append(("scalar", tag, step))

    def add_histogram(self, tag: str, values: Any, step: int) -> None:
        self.calls.append(("histogram", tag, step))

    def add_image(self, tag: str, image: Any, step: int, dataformats: str) -> None:
        assert dataformats == "HW" and image.shape == (2, 4) and 0 <= image.min() <= image.max() <= 1
        self.calls.append(("image", tag, step))


class Training(TorchTest):
    def test_is_bit_for_bit_what_it_is_without(self) -> None:
        alone, watched = make(), make()
        torch.manual_seed(1)
        train(alone, 6)
        torch.manual_seed(1)
        with headgauge.Monitor(watched, every=2) as monitor:
            train(watched, 6, lambda _: monitor.step())
        self.assertEqual([record["step"] for record in monitor.records], [2, 4, 6])
        for a, b in zip(alone.parameters(), watched.parameters(), strict=True):
            self.assertTrue(torch.equal(a, b))
        self.assertTrue(watched.training)
        self.assertFalse(watched._forward_pre_hooks)

    def test_records_are_what_a_scan_says(self) -> None:
        model = make()
        with tempfile.TemporaryDirectory() as folder:
            path, writer = Path(folder) / "monitor.jsonl", Writer()
            with headgauge.Monitor(model, every=3, queries=16, path=path, writer=writer) as monitor:
                train(model, 3, monitor.step)
            lines = [json.loads(line) for line in path.read_text().splitlines()]
            loaded = headgauge.Results.load(path)
            page = Path(folder) / "page.html"
            loaded.report(page)
            self.assertGreater(page.stat().st_size, 100_000)
        self.assertEqual(lines, monitor.records)
        self.assertEqual((loaded.command, loaded.coords["step"]), ("monitor", [3]))
        for name, values in lines[0]["metrics"].items():
            np.testing.assert_array_equal(loaded[name].values[..., 0], values, err_msg=name)
        self.assertEqual(
            set(writer.calls),
            {
                (kind, f"{group}/{name}", 3)  # one kind of data for each name
                for name in lines[0]["metrics"]
                for kind, group in TAGS.items()
            },
        )
        ids = batch(3)[0].numpy()
        expected = headgauge.scan(model, ids, lengths=[64], queries=16, measures=["weights"])
        for name in ("entropy_with_sinks", "max_weight_with_sinks", "logit_range"):
            np.testing.assert_allclose(lines[0]["metrics"][name], expected[name].values[..., 0], atol=1e-6)
        self.assertTrue(0 < monitor.share < 1)

    def test_goes_on_after_a_record_that_was_cut_off(self) -> None:
        model = make()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "monitor.jsonl"

            def watched(steps: range) -> list[dict[str, Any]]:
                with watch(model, path=path) as monitor:
                    for step in steps:
                        model(input_ids=batch(step))
                        monitor.step(step)
                return monitor.records

            first = watched(range(1, 4))
            path.write_bytes(b'{"step": 0}\nno record\n[2]\n' + path.read_bytes()[:-40])
            again = watched(range(3, 5))
            path.write_bytes(path.read_bytes().split(b"\n", 3)[3])
            lines = [json.loads(line) for line in path.read_text().splitlines()]
            self.assertEqual(lines, [*first[:2], *again])
            self.assertEqual(headgauge.Results.load(path).coords["step"], [1, 2, 3, 4])

    def test_goes_on_whatever_the_file_holds(self) -> None:
        model = make()

        def record(step: int = 1, **more: Any) -> bytes:
            metrics = {
                "entropy_normalized_with_sinks": [[0.97] * 4] * 2,
                "max_weight_with_sinks": [[0.5, None, 0.5, 0.5]] * 2,
            }
            head = {"schema": "headgauge.monitor/2", "model": "", "family": "gpt2"}
            return json.dumps({**head, "step": step, "metrics": metrics, **more}).encode() + b"\n"

        def of(*shape: int) -> dict[str, Any]:
            return {"entropy_normalized_with_sinks": np.full(shape, 0.97).tolist()}

        own = record()
        begun = own[:-20]  # a training was killed
        damaged = [
            b"\0" * 9 + b"\n", own[:60] + b"\n", b"[" * 10**5 + b"\n", record(step="one"), record(step=1e999),
            record(metrics=None), record(metrics=[1]), record(metrics={"entropy_normalized_with_sinks": [[0.5], [0.5, 1]]}),
            record(metrics={"entropy_normalized_with_sinks": [[10**400] * 4] * 2}), record(metrics={"entropy_normalized_with_sinks": "none"}),
            b'{"schema": "headgauge.monitor/2"}\n',
        ]  # fmt: skip
        goes_on: list[tuple[bytes, bytes]] = [(text, text) for text in (
            b"", b"\n", own, record(step=9), record(metrics=of(2, 4)), record(metrics={"another": [[1] * 4] * 2}),
            *(own + line for line in damaged), *(line + own for line in damaged), b'{"loss": 1}\n' + own,
        )] + [
            (own[:-1], own), (own + b'{"my": "note', own + b'{"my": "note\n'), (own + b"[1]", own + b"[1]\n"),
            (own + begun, own), (own + own[:7], own), (own + b"{", own), (begun, b""), (b"note\n" + begun, b"note\n"),
            (own + b'{"schema": "headgauge.monitor/2"}', own + b'{"schema": "headgauge.monitor/2"}\n'),
        ]  # fmt: skip
        stays: list[bytes | None] = [
            b'{"my": "data"}', b'{"my": "data"}\n', b"{", b'{"my": "da', b"[1, 2]", b"text\nmore", bytes(range(256)), b"\xff\xfe",
            *damaged, record(family="llama"), record(metrics=of(3, 4)), record(metrics=of(2, 8)), record(metrics=of(8)),
            own + record(metrics=of(5, 8)), record(schema="headgauge.monitor/1"), None,
        ]  # fmt: skip
        measured = {"entropy_normalized_with_sinks": np.full((2, 4), 0.98)}
        patch = mock.patch.object(headgauge.Monitor, "_of_text", lambda *_: (measured, set()))
        patch.start()
        self.addCleanup(patch.stop)
        for before, kept in [*goes_on, *((text, None) for text in stays)]:
            with self.subTest(before and before[:90]), tempfile.TemporaryDirectory() as folder:
                path, said, end = Path(folder) / "monitor.jsonl", [], b""
                if before is None:  # neither it nor the next name can hold records
                    path.write_bytes(b"{}")
                    path.with_name("monitor-2.jsonl").mkdir()
                else:
                    path.write_bytes(before)
                for step in (5, 6):
                    with watch(model, path=path, warn=said.append) as monitor:
                        model(input_ids=batch(step))
                        self.assertIsNotNone(monitor.step(step))
                    end += json.dumps(monitor.records[0]).encode() + b"\n"
                if kept is not None:
                    self.assertEqual((path.read_bytes(), said), (kept + end, []))
                    continue
                other = path.with_name("monitor-3.jsonl" if before is None else "monitor-2.jsonl")
                self.assertEqual((path.read_bytes(), other.read_bytes()), (before or b"{}", end))
                self.assertEqual(len(said), 2)
                self.assertRegex(said[0], f"expected records of this model, found others.* go to {other}$")
                self.assertEqual(headgauge.Results.load(other).coords["step"], [5, 6])

    def test_a_folder_is_given_a_file(self) -> None:
        model = make()
        with tempfile.TemporaryDirectory() as folder:
            os.mkfifo(Path(folder) / "pipe")
            with self.assertRaisesRegex(errors.UsageError, "path: expected a file or a folder"):
                headgauge.Monitor(model, path=Path(folder) / "pipe")
            with watch(model, path=folder) as monitor:
                train(model, 1, monitor.step)
            self.assertEqual(headgauge.Results.load(Path(folder) / "monitor.jsonl").coords["step"], [1])

    def test_goes_on_without_room_for_records(self) -> None:
        model, said = make(), []
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "monitor.jsonl"
            with watch(model, path=path, warn=said.append) as monitor:
                file = monitor._file = mock.Mock(wraps=monitor._file)
                file.write.side_effect = OSError(28, "No space left on device")
                train(model, 2, monitor.step)
        self.assertEqual([record["step"] for record in monitor.records], [1, 2])
        self.assertEqual(len(said), 1)
        self.assertRegex(said[0], "^step 1: records are no longer written, for .*No space left")

    def test_padding_is_no_text_and_short_texts_are_left_out(self) -> None:
        model = make()
        monitor = watch(model)
        ids, mask = batch(1), torch.ones(4, 64, dtype=torch.long)
        mask[:, :24] = 0
        model(input_ids=ids, attention_mask=mask)
        record = monitor.step()
        assert record is not None
        self.assertEqual(record["tokens"], 40)
        mask[:, :40] = 0
        model(input_ids=ids, attention_mask=mask)
        with self.assertWarnsRegex(UserWarning, "step 2: nothing was measured, for a text has fewer than 32"):
            self.assertIsNone(monitor.step())
        self.assertEqual(monitor.skipped, 1)
        monitor.close()

    def test_the_first_text_of_a_packed_row(self) -> None:
        model, said = make(), []
        place = torch.arange(64).remainder(40)[None].repeat(4, 1)
        with watch(model, queries=999, warn=said.append) as monitor:
            model(input_ids=batch(1), position_ids=place, labels=batch(1), use_cache=False)
            packed = monitor.step()
            model(batch(1)[:, :40], position_ids=place[:, :40] + 9)
            moved = monitor.step()
        expected = [
            headgauge.scan(model, given, lengths=[40], queries=999, measures=["weights"])[
                "entropy_with_sinks"
            ].values
            for given in (
                batch(1)[0, :40],
                {"input_ids": batch(1)[:1, :40], "position_ids": place[:1, :40] + 9},
            )
        ]
        assert packed is not None and moved is not None
        self.assertEqual((packed["tokens"], said), (40, []))
        np.testing.assert_array_equal(packed["metrics"]["entropy_with_sinks"], expected[0][..., 0])
        np.testing.assert_array_equal(moved["metrics"]["entropy_with_sinks"], expected[1][..., 0])
        self.assertNotEqual(packed["metrics"], moved["metrics"])

    def test_what_cannot_be_measured_is_counted_and_said_once_with_its_reason(self) -> None:
        model, said = make(), []
        with watch(model, warn=said.append) as monitor:
            for given in (
                {"attention_mask": torch.zeros(4, 64)},
                {"attention_mask": torch.ones(4, 1, 64, 64, dtype=torch.bool).tril()},
                {"position_ids": torch.zeros(4, 64, dtype=torch.long)},
            ):
                model(input_ids=batch(1), **given)
                self.assertIsNone(monitor.step())
            long = torch.full((4, 64), 40)
            with mock.patch.object(
                headgauge._live.LiveModel, "open", side_effect=errors.UnsupportedError("it: no")
            ):
                model(input_ids=batch(1))
                self.assertIsNone(monitor.step())
            model(batch(1), None, torch.ones_like(long))  # by place: GPT-2 takes a cache second
            self.assertIsNotNone(monitor.step())
            with self.assertRaises(errors.UsageError):
                monitor.measures = ["nonsense"]
                model(input_ids=batch(1))
                monitor.step()
        self.assertEqual((monitor.skipped, len(said)), (4, 4))
        for step, why in enumerate((
            "attention_mask: .* zeros alone", "input_ids and attention_mask: expected one sha",
            "a text has fewer than 32 tokens", "it: no",
        ), start=1):  # fmt: skip
            self.assertRegex(said[step - 1], f"^step {step}: nothing was measured, for {why}")

    def test_a_text_is_cut_to_the_positions_of_the_model(self) -> None:
        model = any_model("llama", max_position_embeddings=40)
        with watch(model) as monitor:
            model(input_ids=batch(1))
            record = monitor.step()
        assert record is not None
        self.assertEqual((record["tokens"], monitor.skipped), (40, 0))

    def test_a_model_that_cannot_be_measured_is_refused_before_the_training(self) -> None:
        config = transformers.T5Config(vocab_size=97, d_model=32, d_kv=8, d_ff=32, num_layers=1, num_heads=4)
        for model in (transformers.T5ForConditionalGeneration(config), torch.nn.Linear(2, 2), "a path"):
            with self.subTest(type(model)), self.assertRaises(errors.UsageError):
                headgauge.Monitor(model)

    def test_no_ids_are_said_once(self) -> None:
        model, said = make(), []
        with watch(model, warn=said.append) as monitor:
            for _ in range(3):
                model(inputs_embeds=model.transformer.wte(batch(1)))
                self.assertIsNone(monitor.step())
            with torch.no_grad():
                model(input_ids=batch(1))
            self.assertIsNone(monitor.step())
            model(input_ids=batch(1))
            self.assertIsNotNone(monitor.step())
            self.assertIsNone(monitor.step())  # that batch was measured
        self.assertEqual(monitor.skipped, 5)
        self.assertEqual(len(said), 1)
        self.assertIn("token ids", said[0])

    def test_a_compiled_model(self) -> None:
        model = make()
        compiled = torch.compile(model, backend="eager")
        with headgauge.Monitor(compiled, every=2, measures=["weights"]) as monitor:
            train(model, 4, monitor.step, compiled)
        self.assertEqual(len(monitor.records), 2)

    def test_of_the_trainer(self) -> None:
        callback = headgauge.HeadgaugeCallback(every=2, measures=["weights"])
        trained_by_the_trainer(self, 4, callback)
        assert callback.monitor is not None
        self.assertEqual([record["step"] for record in callback.monitor.records], [2, 4])

    def test_of_lightning(self) -> None:
        try:
            from lightning import pytorch as lightning
        except ImportError:
            self.skipTest("lightning is not installed")
        from headgauge.lightning import MonitorCallback

        class Module(lightning.LightningModule):
            def __init__(self, model: Any) -> None:
                super().__init__()
                self.inner = model

            def training_step(self, ids: Any, _: int) -> Any:
                return self.inner(input_ids=ids, labels=ids).loss

            def configure_optimizers(self) -> Any:
                return torch.optim.SGD(self.parameters(), 0.1)

        def fit(module: Any, callback: Any) -> None:
            with tempfile.TemporaryDirectory() as folder:
                trainer = lightning.Trainer(
                    max_steps=4, accumulate_grad_batches=2, accelerator="cpu", logger=False, callbacks=[callback],
                    enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False,
                    default_root_dir=folder,
                )  # fmt: skip
                data = torch.utils.data.DataLoader([batch(step) for step in range(8)], batch_size=None)
                trainer.fit(module, data)

        for model in (make(), make().eval()):  # as from_pretrained() gives it, which Lightning leaves so
            callback = MonitorCallback(every=2, measures=["weights"])
            fit(Module(model), callback)
            assert callback.monitor is not None
            self.assertEqual([record["step"] for record in callback.monitor.records], [2, 4])
            self.assertFalse(model._forward_pre_hooks)
        for module, name in ((Module(torch.nn.Linear(2, 2)), None), (Module(make()), "outer")):
            with self.subTest(name), self.assertRaises(errors.UsageError):
                fit(module, MonitorCallback(name))

    def test_measures_the_rule_that_is_trained(self) -> None:
        model = make().eval()
        torch.nn.init.normal_(model.transformer.h[1].attn.c_attn.weight, std=0.5)
        ids = batch(1)[0].tolist()
        options = {"lengths": [64], "measures": ["weights"], "queries": 16}
        changed = headgauge.compare(model, ids, normalizer=["entmax"], **options)
        with headgauge.use(model, "entmax"), headgauge.Monitor(model, every=1, queries=16) as monitor:
            scanned = headgauge.scan(model, ids, **options)
            model(input_ids=batch(1), labels=batch(1)).loss.backward()
            record = monitor.step()
        assert record is not None
        self.assertEqual(scanned.settings["normalizer"], "entmax")
        # compare() has the model run under the rule, too.
        entropy = changed["entropy_with_sinks"]
        expected = entropy.values.take(1, axis=entropy.dims.index("normalizer"))
        np.testing.assert_allclose(scanned["entropy_with_sinks"].values, expected, rtol=1e-5)
        np.testing.assert_allclose(record["metrics"]["entropy_with_sinks"], expected[..., 0], rtol=1e-5)

    def test_arguments_that_make_no_sense(self) -> None:
        for options in ({"every": 0}, {"queries": 0}):
            with self.subTest(options), self.assertRaises(errors.UsageError):
                headgauge.Monitor(make(), **options)


class NotFinite(TorchTest):
    def test_heads_are_null_and_the_training_goes_on(self) -> None:
        model, said = make(), []

        def spoil(step: int) -> None:
            with torch.no_grad():
                if step == 1:
                    model.transformer.h[0].attn.c_attn.weight[0, 8] = torch.nan  # a query of head 1
            monitor.step()

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "monitor.jsonl"
            options: dict[str, Any] = {"every": 1, "queries": 16, "path": path, "warn": said.append}
            with headgauge.Monitor(model, writer=Writer(), **options) as monitor:
                train(model, 4, spoil)
            with headgauge.Monitor(model, **options) as resumed:
                model(input_ids=batch(5))
                resumed.step(5)
            loaded = headgauge.Results.load(path)
            loaded.report(Path(folder) / "page.html")
            self.assertNotIn("NaN", path.read_text())
        self.assertEqual(len(monitor.records), 4)
        first, second = monitor.records[0]["metrics"], monitor.records[1]["metrics"]
        self.assertEqual(set(first), set(headgauge.monitor.KEPT))
        for name in first:
            with self.subTest(name):
                self.assertEqual([value is None for value in first[name][0]], [False, True, False, False])
                self.assertEqual([first[name][1], *second[name]], [[None] * 4] * 3)
                self.assertTrue(np.isnan(loaded[name].values[1]).all())
        # That every head of layer 0 follows is not said again, but by the monitor of another run.
        says = "step {}: layer 0, heads {}: scores are not finite numbers, nor are those of 1 later layers"
        expected = [says.format(1, "1"), says.format(5, "0, 1, 2, 3")]
        self.assertEqual(said, expected)
        self.assertEqual(monitor.records[0]["warnings"], expected[:1])
        self.assertEqual((monitor.skipped, monitor.records[3]["warnings"]), (0, []))

    def test_a_broken_layer_is_one_warning_and_one_before_it_another(self) -> None:
        config = transformers.GPT2Config(vocab_size=97, n_embd=32, n_layer=9, n_head=4, n_positions=128)
        model, said = transformers.GPT2LMHeadModel(config), []
        with watch(model, warn=said.append) as monitor:
            for step, layer in ((1, 5), (2, 5), (3, 3)):
                with torch.no_grad():
                    model.transformer.h[layer].attn.c_attn.bias[8] = torch.nan
                model(input_ids=batch(step))
                monitor.step()
        says = "step {}: layer {}, heads 1: scores are not finite numbers, nor are those of {} later layers"
        self.assertEqual(said, [says.format(1, 5, 3), says.format(3, 3, 1)])

    def test_measured_heads_are_what_they_are_without(self) -> None:
        model = make()
        options: dict[str, Any] = {"lengths": [64], "queries": 16, "measures": headgauge.monitor.MEASURES}
        expected = headgauge.scan(model, batch(1)[0], **options)
        # A query and a key of head 1; both are finite, and their scores are not.
        for value, part in ((torch.inf, [8]), (torch.nan, [40]), (-torch.inf, [40]), (1e25, [8, 40])):
            with (
                self.subTest(value),
                headgauge.Monitor(model, every=1, queries=16, warn=lambda _: None) as monitor,
            ):
                with torch.no_grad():
                    model.transformer.h[1].attn.c_attn.bias[part] = value
                    model(input_ids=batch(1))  # has no gradients, and is not seen
                model(input_ids=batch(1))
                record = monitor.step()
                with torch.no_grad():
                    model.transformer.h[1].attn.c_attn.bias[part] = 0
                assert record is not None
                for name, found in record["metrics"].items():
                    own = headgauge.monitor._of_heads(expected, name)
                    own[1, 1] = np.nan
                    np.testing.assert_array_equal(np.array(found, dtype=float), own, err_msg=name)

    def test_too_little_memory_ends_no_training(self) -> None:
        model = make()
        with headgauge.Monitor(model, every=1, warn=lambda _: None) as monitor:
            model(input_ids=batch(1))
            with mock.patch.object(model.transformer.h[0].mlp, "forward", side_effect=torch.OutOfMemoryError):
                self.assertIsNone(monitor.step())
        self.assertEqual(monitor.skipped, 1)

    def test_scan_refuses_such_a_head(self) -> None:
        model = make()
        with torch.no_grad():
            model.transformer.h[0].attn.c_attn.bias[8] = torch.nan
        with self.assertRaisesRegex(errors.BadInputError, "layer 0 head 1: expected finite attention scores"):
            headgauge.scan(model, batch(1)[0])

    def test_of_the_trainer(self) -> None:
        class Break(transformers.TrainerCallback):  # type: ignore[misc]
            def on_step_begin(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
                with torch.no_grad():
                    model.transformer.wte.weight[batch(1)[0, 0]] = torch.nan  # and so every logit

        callback = headgauge.HeadgaugeCallback(every=1, warn=lambda _: None)
        trained_by_the_trainer(self, 3, Break(), callback)
        assert callback.monitor is not None
        self.assertEqual([record["step"] for record in callback.monitor.records], [1, 2, 3])


class Warnings(TorchTest):
    def test_name_the_step_at_which_it_began(self) -> None:
        from headgauge.monitor import drifts

        collapse, dispersion, growth, large = drifts()
        series = [0.5, 0.04, 0.5, 0.04, 0.04, 0.03]
        said = [collapse.look(step, np.array([[0.5, value]])) for step, value in enumerate(series)]
        self.assertEqual([bool(lines) for lines in said], [False] * 4 + [True, False])
        self.assertRegex(
            said[4][0], r"^step 3: entropy collapse began in head 0\.1: .* now 0\.04, at first 0\.5$"
        )
        self.assertFalse([dispersion.look(step, np.array([[0.99]])) for step in range(3)][-1])
        self.assertTrue([growth.look(step, np.array([[v]])) for step, v in enumerate((10.0, 60, 70))][-1])
        self.assertTrue([large.look(step, np.array([[v]])) for step, v in enumerate((150.0, 101))][-1])
        self.assertFalse([large.look(step, np.array([[99.0]])) for step in (2, 3)][-1])

    def test_of_a_resumed_training_are_those_of_one_that_was_not(self) -> None:
        entropies = [0.8, 0.92, 0.97, 0.5, 0.96, 0.97, 0.97]

        def watched(path: Path, steps: range) -> list[str]:
            said: list[str] = []
            model = make()
            with watch(model, path=path, warn=said.append) as monitor:
                for step in steps:
                    model(input_ids=batch(1))
                    values = np.full((2, 4), entropies[step])
                    with mock.patch.object(headgauge.monitor, "_of_heads", lambda results, name: values):
                        monitor.step(step)
            return [line for line in said if "head 0.0" in line]

        with tempfile.TemporaryDirectory() as folder:
            whole = watched(Path(folder) / "whole.jsonl", range(7))
            parts = [
                watched(Path(folder) / "parts.jsonl", steps) for steps in (range(5), range(4, 6), range(5, 7))
            ]
        self.assertEqual([line[:24] for line in whole], ["step 4: dispersion began"])
        # Steps 4 and 5 are measured again, and step 5 says it again, for a checkpoint before it was loaded.
        self.assertEqual(parts, [[], whole, whole])

    def test_are_given_to_the_caller(self) -> None:
        model, said = make(), []
        with watch(model, warn=said.append) as monitor:
            train(model, 1, monitor.step)
            with torch.no_grad():  # scores that are huge
                for block in model.transformer.h:
                    block.attn.c_attn.weight *= 100
            for step in (2, 3):
                model(input_ids=batch(step))
                monitor.step()
        self.assertTrue(
            any("logit growth began in head" in line and line.startswith("step 2") for line in said), said
        )


def shared(model: Any, kind: str) -> Any:
    """The model as one of two processes has it."""
    if kind == "ddp":
        return torch.nn.parallel.DistributedDataParallel(model)
    if kind == "fsdp":
        from torch.distributed.fsdp import FullyShardedDataParallel

        return FullyShardedDataParallel(model, device_id=torch.device("cpu"), use_orig_params=True)
    from torch.distributed.fsdp import fully_shard

    mesh = torch.distributed.device_mesh.init_device_mesh("cpu", (2,))
    for module in (*model.transformer.h, model):
        fully_shard(module, mesh=mesh)
    return model


def gathered(both: Any, kind: str) -> Any:
    """A model that has all the weights."""
    model = make()
    if kind == "ddp":
        model.load_state_dict(both.module.state_dict())
    elif kind == "fsdp":
        with type(both).summon_full_params(both):
            model.load_state_dict({k: v.clone() for k, v in both.module.state_dict().items()})
    else:
        state = both.state_dict()
        model.load_state_dict({k: getattr(v, "full_tensor", lambda v=v: v)() for k, v in state.items()})
    return model


def of_two(rank: int, folder: str, kind: str) -> None:
    """One of two processes that train together."""
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=2
    )
    model = make()
    both = shared(model, kind)
    path = Path(folder) / "monitor.jsonl"
    groups = ["weights", "distance"]
    with headgauge.Monitor(both, every=2, queries=16, measures=groups, path=path) as monitor:
        optimizer = torch.optim.SGD(both.parameters(), 0.1)
        for step in (1, 2):
            ids = batch(10 * rank + step)
            both(input_ids=ids, labels=ids).loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            # NCCL takes no tensor of the CPU.
            with mock.patch.object(torch.distributed, "all_reduce", side_effect=RuntimeError("on the CPU")):
                monitor.step()
    own = headgauge.scan(
        gathered(both, kind), batch(10 * rank + 2)[0].numpy(), lengths=[64], queries=16, measures=groups
    )
    np.save(f"{folder}/own{rank}.npy", own["entropy_with_sinks"].values[..., 0])
    np.save(f"{folder}/mean{rank}.npy", np.array(monitor.records[0]["metrics"]["entropy_with_sinks"]))
    torch.distributed.destroy_process_group()


def of_one_that_cannot(rank: int, folder: str) -> None:
    """One of two processes, of which the second has a text that cannot be measured, and then a head that is not
    finite."""
    torch.distributed.init_process_group(
        "gloo", init_method=f"file://{folder}/meeting", rank=rank, world_size=2
    )
    both, said = shared(make(), "ddp"), []
    with headgauge.Monitor(both, every=1, queries=16, measures=["weights"], warn=said.append) as monitor:
        ids = batch(1)
        both(input_ids=ids, labels=ids, attention_mask=torch.full((4, 64), 1 + rank)).loss.backward()
        monitor.step()
        monitor.step()
        with torch.no_grad():
            both.module.transformer.h[1].attn.c_attn.bias[8] = [0.0, torch.nan][rank]
        both(input_ids=ids)
        monitor.step()
    own = headgauge.scan(make(), batch(1)[0], lengths=[64], queries=16, measures=["weights"])[
        "entropy_with_sinks"
    ].values
    if rank == 0:
        np.testing.assert_array_equal(monitor.records[0]["metrics"]["entropy_with_sinks"], own[..., 0])
    Path(f"{folder}/said{rank}.json").write_text(json.dumps([monitor.skipped, len(monitor.records), said]))
    torch.distributed.destroy_process_group()


class Processes(TorchTest):
    def both(self, target: Any, *arguments: Any) -> None:
        start = multiprocessing.get_context("spawn")
        workers = [start.Process(target=target, args=(rank, *arguments)) for rank in range(2)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(120)
            self.assertEqual(worker.exitcode, 0)

    def test_go_on_together_when_one_cannot_measure(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            self.both(of_one_that_cannot, folder)
            found = [json.loads(Path(f"{folder}/said{rank}.json").read_text()) for rank in range(2)]
        skipped, records, said = found[0]
        self.assertEqual((skipped, records, found[1]), (2, 1, [2, 1, []]))
        self.assertRegex(
            said[0], "^step 1: nothing was measured, for attention_mask: .* found others in row 1"
        )
        self.assertRegex(said[1], "^step 2: nothing was measured, for no forward pass with gradients")
        self.assertEqual(said[2:], ["step 3: layer 1, heads 1: scores are not finite numbers"])

    def test_records_are_means_over_two(self) -> None:
        for kind in ("ddp", "fsdp", "fully_shard"):
            with self.subTest(kind), tempfile.TemporaryDirectory() as folder:
                self.both(of_two, folder, kind)
                own, means = (
                    [np.load(f"{folder}/{name}{rank}.npy") for rank in range(2)] for name in ("own", "mean")
                )
                for mean in means:
                    np.testing.assert_allclose(mean, (own[0] + own[1]) / 2, atol=1e-8)
                self.assertEqual(len((Path(folder) / "monitor.jsonl").read_text().splitlines()), 1)
                self.assertGreater(float(np.abs(own[0] - own[1]).max()), 1e-5)
