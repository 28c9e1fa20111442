"""Do the golden files agree with themselves, with the weights beside them, and with the catalogue?

This finds a file that was cut, edited or made from other weights; whether the numbers are right is
for other tests to say, which compare them with two independent forward passes.
"""

import hashlib
import json
import math
import tempfile
import unittest
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.golden.catalogue import FAMILIES
from tests.golden.catalogue.gpt2 import WIDTHS, capp_tokens
from tests.golden.golden_file import Golden, read_family
from tests.places import DATA, GOLDEN, MINILM
from tests.reference.safetensors_io import read_checkpoint

SIZE_LIMIT = 3_500_000  # bytes of all families

PREFIXES = ("transformer.", "model.", "")

Keys = dict[str, str]  # field of config.json -> key of sizes
Array = npt.NDArray[np.float64]


class Checker(unittest.TestCase):
    def true(self, condition: bool, what: str) -> None:
        self.assertTrue(condition, what)

    def close(self, value: Any, expected: Any, tolerance: float, what: str) -> None:
        value, expected = np.asarray(value), np.asarray(expected)
        self.assertEqual(value.shape, expected.shape, what)
        worst = float(np.abs(value - expected).max(initial=0.0))
        self.assertLessEqual(worst, tolerance, what)


def check_shapes(check: Checker, name: str, golden: Golden) -> None:
    sizes, rows = golden["sizes"], golden["logits"]["rows"]
    layers, heads = sizes["n_layer"], sizes["n_head"]
    count, lengths = len(golden["tokens"]), len(golden["lengths"])
    vocab = sizes["vocab_size"]
    columns, hidden_columns = vocab if vocab <= 64 else 32, min(8, sizes["n_embd"])
    expected: list[tuple[str, Any, tuple[int, ...]]] = [
        ("logits.values", golden["logits"]["values"], (len(rows), columns)),
        ("logits.argmax", golden["logits"]["argmax"], (len(rows),)),
        ("logits.max", golden["logits"]["max"], (len(rows),)),
        ("logits.log_sum_exp", golden["logits"]["log_sum_exp"], (len(rows),)),
        ("next_token_log_probs", golden["next_token_log_probs"], (count - 1,)),
        ("loss", golden["loss"], (lengths,)),
        ("hidden.values", golden["hidden"]["values"], (layers + 1, len(rows), hidden_columns)),
        ("hidden.norms", golden["hidden"]["norms"], (layers + 1, len(rows))),
    ]
    for metric, values in golden["statistics"].items():
        expected.append((f"statistics.{metric}", values, (layers, heads, lengths)))
    for what, values, shape in expected:
        array = np.asarray(values, dtype=np.float64)
        check.true(array.shape == shape, f"{name}: {what} is {array.shape}, expected {shape}")
        check.true(bool(np.isfinite(array).all()), f"{name}: {what} holds a number not finite")
    check.true(bool((np.diff(golden["lengths"]) > 0).all()), f"{name}: lengths not sorted")
    check.true(golden["lengths"][-1] == count, f"{name}: the last length is not that of the text")
    check.true(max(golden["tokens"]) < vocab, f"{name}: a token above the vocabulary")
    if "n_kv_head" in sizes:  # Llama: positions have no end, heads are as wide as they like
        return
    check.true(count <= sizes["n_positions"], f"{name}: more tokens than positions")
    check.true(sizes["d_head"] * heads == sizes["n_embd"], f"{name}: d_head n_head is not n_embd")


def check_logits(check: Checker, name: str, golden: Golden) -> None:
    logits, tokens = golden["logits"], golden["tokens"]
    log_probs, values = golden["next_token_log_probs"], logits["values"]
    for length, loss in zip(golden["lengths"], golden["loss"], strict=True):
        check.close(loss, -log_probs[: length - 1].mean(), 1e-10, f"{name}: loss at {length}")
    total = np.log(np.exp(values).sum(axis=1))
    if values.shape[1] == golden["sizes"]["vocab_size"]:
        check.close(values.argmax(axis=1), logits["argmax"], 0, f"{name}: argmax")
        check.close(values.max(axis=1), logits["max"], 0, f"{name}: largest logit")
        check.close(total, logits["log_sum_exp"], 1e-10, f"{name}: log-sum-exp")
    else:
        check.true(bool((total < logits["log_sum_exp"]).all()), f"{name}: log-sum-exp too small")
    for k, row in enumerate(logits["rows"]):
        if row + 1 < len(tokens) and tokens[row + 1] < values.shape[1]:
            picked = values[k, tokens[row + 1]] - logits["log_sum_exp"][k]
            check.close(picked, log_probs[row], 1e-10, f"{name}: log-probability after row {row}")
    tolerance = max(1e-4, 3 * golden["float32_deviation"]["logits"])
    check.close(golden["logit_tolerance"], tolerance, 1e-15, f"{name}: logit_tolerance")


def check_statistics(check: Checker, name: str, golden: Golden, causal: bool = True) -> None:
    """What holds for every row of softmax weights holds for the means."""
    stats, lengths = golden["statistics"], golden["lengths"]
    check.true(stats.keys() == golden["float32_deviation"]["statistics"].keys(), f"{name}: statistics")
    slack = 1.0 + 1e-11
    top, participation = stats["max_weight"], stats["participation_ratio"]
    mean_keys = (lengths + 1) / 2 if causal else lengths
    rules: dict[str, tuple[Array, Array]] = {
        "max_weight <= 1": (top, np.ones_like(top)),
        "first_weight <= max_weight": (stats["first_weight"], top),
        "participation_ratio <= effective_tokens": (participation, stats["effective_tokens"]),
        "effective_tokens <= mean number of keys": (
            stats["effective_tokens"],
            np.broadcast_to(mean_keys, top.shape),
        ),
        "exp(entropy) <= effective_tokens": (np.exp(stats["entropy"]), stats["effective_tokens"]),
        "1 / max_weight <= participation_ratio": (1.0 / top, participation),
        "entropy_normalized <= 1": (stats["entropy_normalized"], np.ones_like(top)),
        "jacobian_frobenius <= 1/2": (stats["jacobian_frobenius"], np.full_like(top, 0.5)),
        "jacobian_frobenius <= sqrt(max_weight)": (stats["jacobian_frobenius"], np.sqrt(top)),
        "attention_distance <= mean number of keys - 1": (
            stats["attention_distance"],
            np.broadcast_to(mean_keys - 1, top.shape),
        ),
    }
    for rule, (small, large) in rules.items():
        check.true(bool((small <= large * slack).all()), f"{name}: not {rule}")
    for metric, values in stats.items():
        check.true(bool((values > 0).all()), f"{name}: {metric} not positive")


def read_matrix(folder: Path, name: str) -> Array:
    """One matrix of a checkpoint, with or without the prefix."""
    tensors = read_checkpoint(folder)
    return next(tensors[prefix + name] for prefix in PREFIXES if prefix + name in tensors)


def check_files(check: Checker, name: str, golden: Golden, folder: Path) -> None:
    files = sorted(folder.glob("*.safetensors"))
    sums = {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
    check.true(sums == golden["sha256"], f"{name}: SHA-256 of the weights differs")


def check_first_rows(check: Checker, name: str, golden: Golden, rows: Array) -> None:
    """What enters the first layer, of the golden rows."""
    hidden = golden["hidden"]
    columns = hidden["values"].shape[-1]
    for k, x in enumerate(rows):
        what = f"{name}: embedding of row {hidden['rows'][k]}"
        check.close(x[:columns], hidden["values"][0][k], 1e-11, what)
        check.close(np.linalg.norm(x), hidden["norms"][0][k], 1e-9, f"{what}: its norm")


def check_config(check: Checker, name: str, golden: Golden, folder: Path, keys: Keys) -> None:
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    for key, size in keys.items():
        check.true(config[key] == golden["sizes"][size], f"{name}: {key} differs from config.json")


def check_gpt2(check: Checker, name: str, golden: Golden, folder: Path) -> None:
    check_files(check, name, golden, folder)
    rows = golden["hidden"]["rows"]
    tokens = [golden["tokens"][row] for row in rows]
    embedded = read_matrix(folder, "wte.weight")[tokens] + read_matrix(folder, "wpe.weight")[rows]
    check_first_rows(check, name, golden, embedded)
    keys = ("n_layer", "n_head", "n_embd", "n_positions", "vocab_size")
    check_config(check, name, golden, folder, {key: key for key in keys})


def check_llama(check: Checker, name: str, golden: Golden, folder: Path) -> None:
    check_files(check, name, golden, folder)
    tokens = [golden["tokens"][row] for row in golden["hidden"]["rows"]]
    embedded = read_matrix(folder, "embed_tokens.weight")[tokens]
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    if config["model_type"].startswith("gemma"):
        embedded *= rounded(math.sqrt(embedded.shape[1]), config["torch_dtype"])
    check_first_rows(check, name, golden, embedded)
    keys = {
        "num_hidden_layers": "n_layer",
        "num_attention_heads": "n_head",
        "hidden_size": "n_embd",
        "intermediate_size": "n_inner",
        "vocab_size": "vocab_size",
    }
    check_config(check, name, golden, folder, keys)


def rounded(value: float, dtype: str) -> float:
    """To nearest, in a type of so many binary digits; float32 counts as exact here, as in the run."""
    digits = {"bfloat16": 8, "float16": 11}.get(dtype, 53)
    mantissa, exponent = math.frexp(value)
    return math.ldexp(round(math.ldexp(mantissa, digits)), exponent - digits)


def check_bert(check: Checker, name: str, golden: Golden, folder: Path) -> None:
    check_files(check, name, golden, folder)
    keys = {
        "num_hidden_layers": "layers",
        "num_attention_heads": "heads",
        "hidden_size": "width",
        "max_position_embeddings": "positions",
        "vocab_size": "vocabulary",
    }
    check_config(check, name, golden, folder, keys)


def check_bert_shapes(check: Checker, name: str, golden: Golden) -> None:
    sizes, rows, lengths = golden["sizes"], golden["hidden"]["rows"], golden["lengths"]
    layers, columns = sizes["layers"], min(8, sizes["width"])
    expected: list[tuple[str, Any, tuple[int, ...]]] = [
        ("hidden.values", golden["hidden"]["values"], (layers, len(rows), columns)),
        ("hidden.norms", golden["hidden"]["norms"], (layers, len(rows))),
    ]
    for metric, values in golden["statistics"].items():
        expected.append((f"statistics.{metric}", values, (layers, sizes["heads"], len(lengths))))
    for what, values, shape in expected:
        check.true(np.asarray(values).shape == shape, f"{name}: {what} is not {shape}")
    around = len(golden["before"]) + len(golden["after"])
    check.true(bool((np.diff(lengths) > 0).all()), f"{name}: lengths not sorted")
    check.true(lengths[-1] == len(golden["tokens"]) + around, f"{name}: the last length")
    check.true(lengths[-1] <= sizes["positions"], f"{name}: more tokens than positions")


CHECKS = {"gpt2": check_gpt2, "llama": check_llama, "bert": check_bert}
TRAINED = {
    "gpt2/capp-gpt": DATA / "models/capp-gpt",
    "llama/stories260k": DATA / "models/stories260k",
    "bert/minilm": MINILM,
}


class GoldenFiles(Checker):
    def test_there_is_one_for_every_case_and_no_other(self) -> None:
        expected = {f"{family}/{case.name}" for family in FAMILIES for case in FAMILIES[family]}
        folders = {f"{family}/{path.name}" for family in FAMILIES for path in (GOLDEN / family).iterdir()}
        self.assertEqual(folders, expected)
        expected |= {f"gpt2/{case.name}" for case in WIDTHS} | TRAINED.keys()
        found = {f"{family}/{name}" for family in FAMILIES for name in read_family(family)}
        self.assertEqual(found, expected)
        files = (path for family in FAMILIES for path in GOLDEN.glob(f"{family}*/**/*"))
        self.assertLess(sum(path.stat().st_size for path in files), SIZE_LIMIT)

    def test_the_numbers_agree_with_each_other(self) -> None:
        goldens = ((family, *item) for family in FAMILIES for item in read_family(family).items())
        for family, name, golden in goldens:
            with self.subTest(f"{family}/{name}"):
                if family == "bert":
                    check_bert_shapes(self, name, golden)
                else:
                    check_shapes(self, name, golden)
                    check_logits(self, name, golden)
                check_statistics(self, name, golden, causal=family != "bert")

    def test_the_checkpoints_are_those_of_the_catalogue(self) -> None:
        for family, cases in FAMILIES.items():
            for case in cases:
                golden, folder = read_family(family)[case.name], GOLDEN / family / case.name
                with self.subTest(f"{family}/{case.name}"), tempfile.TemporaryDirectory() as scratch:
                    self.assertEqual(golden["tokens"].tolist(), case.token_ids())
                    CHECKS[family](self, case.name, golden, folder)
                    case.write(Path(scratch))
                    made = {path.name: path.read_bytes() for path in Path(scratch).iterdir()}
                    kept = {path.name: path.read_bytes() for path in folder.iterdir()}
                    self.assertEqual(made.keys(), kept.keys())
                    for file, content in made.items():
                        self.assertTrue(content == kept[file], f"{file} differs")

    def test_the_real_widths_are_those_of_the_catalogue(self) -> None:
        for case in WIDTHS:
            golden = read_family("gpt2")[case.name]
            with self.subTest(case.name), tempfile.TemporaryDirectory() as scratch:
                self.assertEqual(golden["tokens"].tolist(), case.token_ids())
                case.write(Path(scratch))
                check_gpt2(self, case.name, golden, Path(scratch))

    def test_the_trained_models_are_those_of_the_files(self) -> None:
        tokens = read_family("gpt2")["capp-gpt"]["tokens"].tolist()
        self.assertEqual(tokens, capp_tokens(len(tokens)))
        for name, folder in TRAINED.items():
            family, _, model = name.partition("/")
            with self.subTest(name):
                if not folder.is_dir():
                    self.skipTest(f"{folder} is absent")
                CHECKS[family](self, model, read_family(family)[model], folder)
