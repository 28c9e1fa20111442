"""Transformers models as they run: outputs unchanged, statistics those of eager attention."""

import copy
import tempfile
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from commands import at_once
from needs_torch import TorchTest, torch, transformers

import headgauge
from headgauge import errors

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT.parent / "shared/data/models"
LENGTH = 64
SMALL = {
    "vocab_size": 97,
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 256,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
GROUPED = {"num_key_value_heads": 2}
EIGHT = {**GROUPED, "head_dim": 8}
EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16}
MODELS: dict[str, dict[str, Any]] = {
    "bert": {},
    "bloom": {"n_layer": 2, "n_head": 4},
    "codegen": {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 256, "rotary_dim": 4, "n_inner": 48},
    "cohere": GROUPED,
    "falcon": {"new_decoder_architecture": True, "num_kv_heads": 2},
    "gemma2": {**EIGHT, "sliding_window": 16},
    "gemma3_text": {**EIGHT, "sliding_window": 16},
    "gpt2": {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 256},
    "gpt_neo": {
        "num_layers": 2,
        "num_heads": 4,
        "attention_types": [[["global", "local"], 1]],
        "window_size": 16,
    },
    "gpt_neox": {},
    "gpt_oss": {**EIGHT, "num_local_experts": 4, "sliding_window": 16},
    "gptj": {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 256, "rotary_dim": 4},
    "llama": GROUPED,
    "mistral": {**GROUPED, "sliding_window": 16},
    "mixtral": {**GROUPED, "num_local_experts": 4},
    "modernbert": {"num_hidden_layers": 4, "local_attention": 16, "cls_token_id": 1, "sep_token_id": 2},
    "mpt": {"d_model": 32, "n_layers": 2, "n_heads": 4, "max_seq_len": 256},
    "olmo2": GROUPED,
    "opt": {"ffn_dim": 48, "word_embed_proj_dim": 32},
    "phi3": GROUPED,
    "qwen3": EIGHT,
    "roberta": {},
    "qwen3_moe": {**EIGHT, **EXPERTS},
    "starcoder2": GROUPED,
}
BOTH_WAYS = ("bert", "modernbert", "roberta")


def ids(count: int = LENGTH, vocabulary: int = 97) -> Any:
    return np.random.default_rng(1).integers(3, vocabulary, size=count)


def make(kind: str, attention: str = "sdpa", **more: Any) -> Any:
    torch.manual_seed(0)
    config = transformers.AutoConfig.for_model(kind, **{**SMALL, **MODELS[kind], **more})
    auto = transformers.AutoModel if kind in BOTH_WAYS else transformers.AutoModelForCausalLM
    try:
        return auto.from_config(copy.deepcopy(config), attn_implementation=attention).eval()
    except ValueError:  # no sdpa for this one
        return auto.from_config(copy.deepcopy(config), attn_implementation="eager").eval()


def output(model: Any, tokens: Any) -> Any:
    with torch.no_grad():
        out = model(torch.tensor(np.asarray(tokens))[None])
    return out.logits if hasattr(out, "logits") else out.last_hidden_state


def measured(model: Any, tokens: Any = None, name: str = "entropy_with_sinks", **options: Any) -> Any:
    """The values of a metric, of a text as long as LENGTH."""
    given = {"lengths": [LENGTH], "measures": "weights", **options}
    return headgauge.scan(model, ids() if tokens is None else tokens, **given)[name].values


def close(found: Any, expected: Any) -> None:
    torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-4)


def fed(model: Any, tokens: Any, parts: list[int], mask: Any = None, places: Any = None) -> tuple[Any, Any]:
    """The logits of a text that is given in such parts, through a cache, and the cache."""
    cache, logits, at = transformers.DynamicCache(config=model.config), [], 0
    if mask is not None and places is None:
        places = (mask.cumsum(1) - 1).clamp_min(0)
    for count in parts:
        more: dict[str, Any] = {getattr(model, "cache_name", "past_key_values"): cache}
        if mask is not None:
            more |= {"attention_mask": mask[:, : at + count], "position_ids": places[:, at : at + count]}
        with torch.no_grad():
            logits.append(model(tokens[:, at : at + count], use_cache=True, **more).logits)
        at += count
    return torch.cat(logits, dim=1), cache


class Architectures(TorchTest):
    def test_outputs_are_unchanged_and_weights_are_those_of_eager_attention(self) -> None:
        import architectures

        known = transformers.models.auto.configuration_auto.CONFIG_MAPPING_NAMES
        self.assertGreaterEqual(len(set(MODELS) & set(known)), 12)
        for kind in MODELS:
            if kind not in known:
                continue
            with self.subTest(kind):
                model, eager = make(kind), make(kind, "eager")
                eager.load_state_dict(model.state_dict())
                name = model.config._attn_implementation
                found = architectures.check(model, eager, {"input_ids": torch.tensor(ids())[None]})
                self.assertEqual((found.kind, found.text), ("works", ""))
                self.assertEqual(model.config._attn_implementation, name)

    def test_eager_attention_and_half_precision(self) -> None:
        for attention in ("sdpa", "eager"):
            with self.subTest(attention):
                model = make("llama", attention)
                expected = measured(model)
                np.testing.assert_allclose(measured(model.bfloat16()), expected, atol=2e-2)

    def test_what_computes_its_own_attention_is_refused_by_name(self) -> None:
        config = transformers.AutoConfig.for_model(
            "xlnet", vocab_size=97, d_model=32, d_inner=48, n_layer=2, n_head=4
        )
        model = transformers.AutoModelForCausalLM.from_config(config)
        with self.assertRaisesRegex(errors.UnsupportedError, r"XLNetLMHeadModel: .*headgauge\.analyze"):
            headgauge.scan(model, ids())


class Checkpoints(TorchTest):
    """The Python path and the C++ path agree."""

    def agree(self, folder: Path) -> None:
        if not folder.exists():
            self.skipTest(f"{folder} is absent")
        model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
        tokens = ids(160, model.config.vocab_size)
        options: dict[str, Any] = {"lengths": [64, 160], "measures": ["weights", "coverage", "separability"]}
        compared = 0
        for changed in ({}, {"normalizer": "ssmax"}, {"pattern": "window:size=16"}):
            live = headgauge.scan(model, tokens, **options, **changed)
            own = headgauge.scan(folder, tokens, **options, **changed)
            compared += self.compare(live, own)
        self.assertGreater(compared, 60)

    def compare(self, live: headgauge.Results, own: headgauge.Results) -> int:
        compared = 0
        self.assertEqual(set(live.metrics), set(own.metrics))
        for name, metric in own.metrics.items():
            if metric.identifier or metric.none is not None:
                continue  # which key
            if "separab" in name or name == "top_overlap":
                # A share of rows, each of which steps where two keys are alike.
                differ = ~np.isclose(live[name].values, metric.values, atol=1e-4, equal_nan=True)
                self.assertLess(differ.mean(), 0.05, name)
                continue
            np.testing.assert_allclose(live[name].values, metric.values, atol=1e-4, rtol=1e-4, err_msg=name)
            compared += 1
        return compared

    def test_every_metric(self) -> None:
        for folder in (ROOT / "demo/model", DATA / "capp-gpt", DATA / "stories260k"):
            with self.subTest(folder.name):
                self.agree(folder)

    def test_the_vectors_that_enter_a_layer(self) -> None:
        path, tokens = ROOT / "demo/model", ids(96, 900)
        model = transformers.AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32)
        for x in ("hidden", "value", "embedding"):
            found, expected = (
                measured(of, tokens, "distance", x=x, lengths=[96], measures="distance")
                for of in (model, path)
            )
            np.testing.assert_allclose(found, expected, rtol=1e-4, err_msg=x)
        # Of every kind of model, also where a layer's parts stand in lists of their own.
        for kind in MODELS:
            if kind in transformers.models.auto.configuration_auto.CONFIG_MAPPING_NAMES:
                with self.subTest(kind):
                    found = measured(make(kind), None, "distance", x="hidden", measures="distance")
                    self.assertTrue(np.isfinite(found).any())

    def test_the_loss(self) -> None:
        model = transformers.AutoModelForCausalLM.from_pretrained(ROOT / "demo/model")
        tokens = ids(96, model.config.vocab_size)
        found = headgauge.scan(model, tokens, lengths=[96], measures=["weights", "model"])
        with torch.no_grad():
            given = torch.tensor(tokens)[None]
            expected = float(model(given, labels=given).loss)
        self.assertAlmostEqual(float(found["loss"].values[0, 0]), expected, delta=1e-5)


class Dumps(TorchTest):
    def test_are_read_by_the_core(self) -> None:
        model, tokens = make("llama"), ids()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "dump.safetensors"
            headgauge.dump(model, tokens, path)
            self.assertEqual([file.name for file in Path(folder).iterdir()], [path.name])
            of_dump = headgauge.scan(path, lengths=[LENGTH], measures=["weights", "distance"])
        live = headgauge.scan(model, tokens, lengths=[LENGTH], measures=["weights", "distance"])
        for name in ("entropy_with_sinks", "mass", "max_weight_with_sinks", "distance"):
            np.testing.assert_allclose(of_dump[name].values, live[name].values, atol=1e-6, err_msg=name)

    def test_what_a_dump_cannot_say_is_refused(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "dump.safetensors"
            for kind, found in (("mistral", "window 16"), ("gpt_oss", "sinks"), ("gemma2", "softcap|window")):
                with self.subTest(kind), self.assertRaisesRegex(errors.UnsupportedError, found):
                    headgauge.dump(make(kind, "eager"), ids(), path)
            with self.assertRaises(errors.BadInputError):
                headgauge.dump(make("llama"), [ids(), ids()], path)
            with self.assertRaises(errors.ResourceError):
                headgauge.dump(make("llama"), ids(), Path(folder) / "nowhere/dump.safetensors")
            self.assertEqual(list(Path(folder).iterdir()), [])


class Documents(TorchTest):
    def test_several_are_measured_side_by_side(self) -> None:
        """Also the vectors of each text and layer."""
        texts = [ids(LENGTH), ids(80)[::-1].copy()]
        one = make("llama", num_key_value_heads=1)
        of_vectors = [
            (one, "distance", {"measures": "distance", "x": x}) for x in ("embedding", "value", "hidden")
        ]
        for model, name, options in ((make("llama"), "entropy_with_sinks", {}), *of_vectors):
            with self.subTest(**options):
                each = [measured(model, text, name, **options) for text in texts]
                both = measured(model, texts, name, **options)
                np.testing.assert_allclose(both, (each[0] + each[1]) / 2, atol=1e-9)

    def test_a_batch_with_padding_is_its_texts(self) -> None:
        model = make("llama")
        texts = [ids(LENGTH), ids(80)[::-1].copy()]
        batch, mask = np.zeros((2, 90), dtype=np.int64), np.zeros((2, 90), dtype=np.int64)
        batch[0, 5 : 5 + LENGTH], mask[0, 5 : 5 + LENGTH] = texts[0], 1  # on both sides
        batch[1, 10:], mask[1, 10:] = texts[1], 1
        given = {"input_ids": torch.tensor(batch), "attention_mask": torch.tensor(mask)}
        np.testing.assert_array_equal(measured(model, given), measured(model, texts))
        mask[1, 40] = 0
        for wrong in (
            {"input_ids": batch, "attention_mask": mask},
            {"input_ids": batch, "attention_mask": mask[:1]},
            {},
        ):
            with self.assertRaises(errors.BadInputError):
                measured(model, wrong)

    def entropy(self, model: Any, tokens: Any, **given: Any) -> Any:
        """(layers, heads): of transformers' own eager attention in float64, the mean over the rows."""
        eager = copy.deepcopy(model).double()
        eager.set_attn_implementation("eager")
        with torch.no_grad():
            weights = eager(
                torch.tensor(np.asarray(tokens))[None], output_attentions=True, **given
            ).attentions
        return np.stack([torch.special.entr(w[0]).sum(-1).mean(-1).numpy() for w in weights])

    def test_a_packed_row_is_its_texts(self) -> None:
        model, tokens = make("llama"), ids(96)
        place = torch.tensor([list(range(32)) * 3])
        ends = torch.tensor([0, 32, 64, 96])
        batch = {"input_ids": torch.tensor(tokens)[None], "position_ids": place, "labels": place}
        batch |= {"cu_seq_lens_q": ends, "cu_seq_lens_k": ends, "max_length_q": 32, "max_length_k": 32}
        expected = self.entropy(model, tokens, position_ids=place, use_cache=False)
        unpacked = self.entropy(model, tokens)
        self.assertGreater(np.abs(unpacked - expected).max(), 0.5)
        found = headgauge.scan(model, batch, lengths=[32, 96], measures="weights")
        self.assertEqual(found.document["text"]["tokens"], [32, 32, 32])
        self.assertEqual(list(found.coords["length"]), [32])
        at_shortest = "the rows of the batch hold 3 texts, each measured by itself; lengths end at the shortest, 32 tokens"
        self.assertEqual(found.notices[0], at_shortest)
        for lengths in (96, "32,96", np.array([96]), (96,), range(32, 97, 64)):
            same = headgauge.scan(model, tokens=batch, lengths=lengths, measures="weights")
            self.assertEqual((list(same.coords["length"]), same.notices[0]), ([32], at_shortest))
            np.testing.assert_array_equal(
                same["entropy_with_sinks"].values, found["entropy_with_sinks"].values
            )
        np.testing.assert_allclose(found["entropy_with_sinks"].values[..., 0], expected, atol=1e-6)
        ids_alone = {k: batch[k] for k in ("input_ids", "position_ids")}
        for given, of, says in (
            (model, {**batch, "cu_seq_lens_k": ends[:2]}, "cu_seq_lens_k: expected none, found one that may"),
            (ROOT / "demo/model", ids_alone, "position_ids: "),  # a checkpoint has no such texts
        ):
            with self.assertRaisesRegex(errors.BadInputError, f"^{says}"):
                headgauge.scan(given, of, lengths=[32])
        # Positions separate nothing if there is a mask.
        whole = {**ids_alone, "attention_mask": place >= 0}
        expected = self.entropy(model, tokens, position_ids=place, attention_mask=place >= 0)
        found = measured(model, whole, lengths=[96])
        np.testing.assert_allclose(found[..., 0], expected, atol=1e-6)

    def test_packed_texts_of_several_lengths_have_one_notice_on_lengths(self) -> None:
        model, place = make("llama"), torch.tensor([[*range(40), *range(56)]])
        batch = {"input_ids": torch.tensor(ids(96))[None], "position_ids": place}
        for lengths in (None, "auto"):
            found = headgauge.scan(model, batch, lengths=lengths, measures="weights")
            self.assertEqual(list(found.coords["length"]), [32, 56])
            self.assertEqual(found.notices[0], "the rows of the batch hold 2 texts, each measured by itself")
            self.assertFalse(any("shortest" in notice for notice in found.notices), found.notices)
        with self.assertRaisesRegex(errors.Error, "lengths"):
            headgauge.scan(model, batch, lengths="many", measures="weights")

    def test_a_packed_row_of_a_model_that_sees_both_ways_is_one_text(self) -> None:
        model, place = make("bert"), torch.tensor([[*range(32), *range(32)]])
        found = measured(model, {"input_ids": ids()[None], "position_ids": place})[..., 0]
        np.testing.assert_allclose(found, self.entropy(model, ids(), position_ids=place), atol=1e-6)

    def test_positions_and_types_of_tokens_are_given_to_the_model(self) -> None:
        model, tokens = make("gpt2"), ids()
        with torch.no_grad():
            for weight in (model.transformer.wpe.weight, model.transformer.wte.weight):
                weight.mul_(50)
            model.transformer.h[0].attn.c_attn.weight.mul_(10)
        place = torch.arange(100, 100 + LENGTH)[None]
        options: dict[str, Any] = {"lengths": [LENGTH], "measures": "weights"}
        plain = self.entropy(model, tokens)
        for given in ({"position_ids": place}, {"token_type_ids": torch.full((1, LENGTH), 7)}):
            with self.subTest(given):
                expected = self.entropy(model, tokens, **given)
                self.assertGreater(np.abs(expected - plain).max(), 1e-4)
                padded = {k: torch.nn.functional.pad(v, (9, 0)) for k, v in given.items()}
                padded["input_ids"] = torch.nn.functional.pad(torch.tensor(tokens)[None], (9, 0))
                padded["attention_mask"] = (padded["input_ids"] > 0).double()  # 0 and 1 of any kind
                for batch in ({"input_ids": torch.tensor(tokens)[None], **given}, padded):
                    np.testing.assert_allclose(measured(model, batch)[..., 0], expected, atol=1e-6)
                    both = headgauge.compare(model, batch, normalizer=["ssmax"], **options)[
                        "entropy_with_sinks"
                    ]
                    own = both.values.take(0, axis=both.dims.index("normalizer"))
                    np.testing.assert_allclose(own[..., 0], expected, atol=1e-6)
                    with self.assertRaisesRegex(errors.BadInputError, f"^{next(iter(given))}: expected none"):
                        headgauge.converge(model, batch, lengths=[LENGTH])
                    with self.assertRaisesRegex(errors.UnsupportedError, "more than ids"):
                        headgauge.compare(
                            model, batch, confirm=[tokens[::-1].copy()], pattern=["window:size=8"], **options
                        )
        default = {"input_ids": [tokens.tolist()], "position_ids": [list(range(LENGTH))]}
        self.assertEqual(headgauge.converge(model, default, lengths=[LENGTH]).command, "converge")

    def test_what_else_changes_a_model_is_refused(self) -> None:
        model, row = make("llama"), torch.tensor(ids())[None]
        expected = measured(model, row[0])
        idle = {"offset_mapping": [[(0, 1)] * LENGTH], "labels": row, "use_cache": False, "cache": None}
        np.testing.assert_array_equal(measured(model, {"input_ids": row, **idle}), expected)
        for name, value, says in (
            ("is_causal", False, "expected none"),
            ("cache_position", torch.arange(LENGTH), "expected none"),
            ("inputs_embeds", torch.zeros(1, LENGTH, 32), "expected none"),
            ("position_ids", row.repeat(3, 1, 1), "found int64 of shape"),
            ("position_ids", row[:, 1:], "expected one shape"),
            ("attention_mask", torch.ones(1, 1, LENGTH, LENGTH), "found int64 of shape"),
            ("attention_mask", 1 + (row > 0).long(), "found others in row 1"),
            ("attention_mask", torch.zeros_like(row), "found zeros alone in row 1; leave it out"),
        ):
            for given in (model, ROOT / "demo/model"):
                with self.subTest(name), self.assertRaisesRegex(errors.BadInputError, f"{name}: .*{says}"):
                    measured(given, {"input_ids": row, name: value})

        class Plain(transformers.LlamaForCausalLM):  # type: ignore[misc]
            def forward(self, input_ids: Any, attention_mask: Any = None) -> Any:
                return super().forward(input_ids, attention_mask, use_cache=False)

        model.__class__ = Plain  # what it does not take, does not change it
        given = {"input_ids": row, "is_causal": False, "position_ids": row}
        np.testing.assert_array_equal(measured(model, given), expected)

    def test_no_longer_than_its_positions(self) -> None:
        model = make("roberta", max_position_embeddings=66)
        found = headgauge.scan(model, ids(80), lengths=[64], measures="weights")
        self.assertEqual(found.document["text"]["tokens"], [64])

    def test_a_model_that_sees_both_ways_is_run_at_each_length(self) -> None:
        model = make("bert")
        both, short = measured(model, lengths=[32, LENGTH]), measured(model, ids()[:32], lengths=[32])
        np.testing.assert_array_equal(both[..., 0], short[..., 0])


class Travels(TorchTest):
    """As from a GPU, of which there is none here: tensors are said not to be in main memory."""

    def test_only_needed_rows_are_copied(self) -> None:
        from headgauge import _devices

        model, tokens = make("llama"), ids(200)
        options: dict[str, Any] = {
            "lengths": [64, 200], "queries": 4, "measures": ["weights", "distance", "sensitivity"]
        }  # fmt: skip
        expected = headgauge.scan(model, tokens, **options)
        travelled = []

        class Spy(_devices.HostCopy):
            def __init__(self, tensor: Any, rows: Any = None) -> None:
                super().__init__(tensor, rows)
                travelled.append((self._taken.shape[1], self._length))

        with (
            mock.patch("headgauge._devices.in_main_memory", return_value=False),
            mock.patch("headgauge._live.HostCopy", Spy),
        ):
            found = headgauge.scan(model, tokens, **options)
            for name in found:
                np.testing.assert_array_equal(found[name].values, expected[name].values, err_msg=name)
            queries = travelled[::3]
            self.assertEqual({length for _, length in travelled}, {200})
            self.assertLess(max(count for count, _ in queries), 40)
            self.assertEqual({count for k in (1, 2) for count, _ in travelled[k::3]}, {200})
            # Patterns may look at all queries, and so do all rows.
            for more in ({"pattern": "keydiff:keys=40"}, {"queries": "all"}):
                travelled.clear()
                headgauge.scan(model, tokens, **{**options, **more})
                self.assertEqual({count for count, _ in travelled}, {200}, more)

    def test_half_precision(self) -> None:
        model = make("llama").bfloat16()
        expected = measured(model)
        with mock.patch("headgauge._devices.in_main_memory", return_value=False):
            np.testing.assert_array_equal(measured(model), expected)


class Faults(TorchTest):
    def test_arguments_that_make_no_sense(self) -> None:
        model = make("llama")
        for tokens, kind in (
            (None, errors.UsageError),
            ("a text", errors.UsageError),
            ([], errors.BadInputError),
            ([1], errors.BadInputError),
            ([[1, 2], [3, 400]], errors.BadInputError),
            (np.ones((4, 4)), errors.BadInputError),
            ([5, -1], errors.BadInputError),
        ):
            with self.subTest(repr(tokens)), self.assertRaises(kind):
                headgauge.scan(model, tokens)
        with self.assertRaises(errors.UsageError):
            headgauge.scan(model, ids(), x="tokens")
        with self.assertRaises(errors.UsageError):
            headgauge.compare(model, ids())  # with what
        with self.assertRaisesRegex(TypeError, "twice"):
            headgauge.scan(model, ids(), tokens=[7] * 64)
        with self.assertRaises(errors.UsageError):
            headgauge.scan(object(), ids())

    def test_an_exception_in_the_model_comes_out_and_leaves_it_as_it_was(self) -> None:
        model = make("llama").train()

        def fail(*_: Any) -> None:
            raise ZeroDivisionError("in the model")

        hook = model.model.layers[1].mlp.register_forward_hook(fail)
        with self.assertRaisesRegex(ZeroDivisionError, "in the model"):
            headgauge.scan(model, ids())
        hook.remove()
        self.assertEqual(model.config._attn_implementation, "sdpa")
        self.assertTrue(model.training)
        measured(model)

    def test_two_scans_at_once(self) -> None:
        models = [make("llama"), make("gpt_neox")]
        alone = [measured(model) for model in models]
        for found, expected in zip(at_once(measured, models), alone, strict=True):
            np.testing.assert_array_equal(found, expected)
