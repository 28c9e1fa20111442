"""Calls of every public callable of headgauge with what nobody should give: for test_hostile_calls.py, and for
`make faults`, which tries more of them. Each call is printed before it is made, so that a crash has a name.

    python hostile.py FOLDER all           # each argument of each callable with each value
    python hostile.py FOLDER SEED COUNT    # random calls
"""

import importlib.util
import inspect
import random
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import headgauge
from headgauge import errors

ROOT = Path(__file__).resolve().parents[2]
MODEL = ROOT / "tests/golden/gpt2/plain"
IDS = [i * i * 7 % 41 for i in range(64)]
OF_TORCH = {"HeadgaugeCallback", "Monitor", "dump", "normalize", "prove", "use"}
PLAIN = {"Queries", "Rows", "__version__", "errors"}  # no call of theirs takes arguments
PROMISED = (errors.Error, TypeError, ValueError)
# Words of the machinery, not of headgauge.
MACHINERY = re.compile(r"json\.exception|bad_cast|std::|incompatible function arguments|internal error")
# What Python says of an argument that is no list, or of a function of the caller's that takes other arguments.
OF_PYTHON = re.compile(r"not iterable|0-d array|takes \w+ (positional )?arguments?")
FEW = 8  # values of an argument that an earlier callable has, too
QUICK: dict[str, Any] = {"lengths": [16], "measures": ["weights"]}


class Bare:
    """An object of no use."""

    def __repr__(self) -> str:
        return "Bare()"


def values() -> list[Any]:
    """What is tried as an argument."""
    masked = np.ma.array([[1.0, 1e3]] * 2, mask=[[False, True]] * 2)
    return [
        None, float("nan"), 10**400, "\ud800", [float("nan")], {"\ud800": float("nan")}, masked, Bare(),  # FEW
        float("inf"), -1, 1j, "", "nothing of this kind", "a\0b", b"bytes", [], {}, [[]], ["\ud800"], [None], [b""],
        [Bare()], object, np.zeros(0), np.zeros((2, 0)), np.full(3, np.nan), np.ma.masked, np.array(["x"]),
        np.array([1j]), (), lambda *given: None,
    ]  # fmt: skip


class NoMetrics(headgauge.Measure):
    metrics = ["a"]  # type: ignore[assignment]  # noqa: RUF012


class NoPairs(headgauge.Measure):
    metrics = {"a": 1, "b": ("\ud800", "x")}  # type: ignore[dict-item]  # noqa: RUF012


class NoName(headgauge.Normalizer):
    name = None  # type: ignore[assignment]


class NoWords(headgauge.Pattern):
    name = "\ud800"
    by_position = "x"


OWN = (NoMetrics, NoPairs, NoName, NoWords)


def good(folder: Path) -> dict[str, tuple[Callable[..., Any], dict[str, Any]]]:
    """Every public callable, and arguments that it takes. What would take long has no model, which is found late."""
    missing, texts = folder / "missing", [IDS, IDS[::-1]]
    q = np.random.default_rng(1).normal(size=(2, 16, 4)).astype(np.float32)
    results = headgauge.scan(MODEL, IDS, **QUICK)
    results.save(folder / "results")
    calls: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
        "analyze": (headgauge.analyze, {"q": q, "k": q, **QUICK}),
        "compare": (
            headgauge.compare,
            {"model": MODEL, "text_or_ids": IDS, "normalizer": ["ssmax"], **QUICK},
        ),
        "converge": (headgauge.converge, {"model": missing, "text_or_ids": IDS}),
        "diff": (headgauge.diff, {"old": results, "new": folder / "results"}),
        "example_model": (headgauge.example_model, {"folder": 0}),
        "merge": (headgauge.merge, {"folders": [folder / "results"]}),
        "plan": (headgauge.plan, {"model": missing, "text_or_ids": texts, "confirm": [IDS[::3]]}),
        "reproduce": (headgauge.reproduce, {"what": "limits", "model": missing, "text_or_ids": IDS}),
        "scan": (headgauge.scan, {"model": MODEL, "text_or_ids": IDS, **QUICK}),
        "series": (headgauge.series, {"results": [results, results]}),
        "task": (headgauge.task, {"name": "copy", "model": missing, "out": folder / "task.jsonl"}),
        "validate": (headgauge.validate, {"model": missing, "text_or_ids": texts}),
        "Results": (headgauge.Results, {"core": results._core}),
        "Results.load": (headgauge.Results.load, {"path": folder / "results"}),
        "Results.report": (results.report, {"path": folder / "page.html"}),
        "Results.save": (results.save, {"folder": folder / "saved"}),
        **{own.__name__: (own, {}) for own in (headgauge.Measure, headgauge.Normalizer, headgauge.Pattern)},
    }
    if importlib.util.find_spec("torch") and importlib.util.find_spec("transformers"):
        calls.update(of_torch(folder))
    return calls


def of_torch(folder: Path) -> dict[str, tuple[Callable[..., Any], dict[str, Any]]]:
    import torch
    import transformers

    config = transformers.GPT2Config(vocab_size=41, n_positions=64, n_embd=16, n_layer=1, n_head=2)
    model = transformers.GPT2LMHeadModel(config).eval()

    def changed(**options: Any) -> None:
        headgauge.use(**options).restore()

    def watched(**options: Any) -> None:
        headgauge.Monitor(**options).close()

    def called_back(**options: Any) -> None:
        callback = headgauge.HeadgaugeCallback(**options)
        callback.on_train_begin(None, None, None, model=model)
        callback.on_train_end(None, None, None)

    for wrapper, of in ((changed, headgauge.use), (watched, headgauge.Monitor)):
        wrapper.__signature__ = inspect.signature(of)  # type: ignore[attr-defined]
    parameters = list(inspect.signature(headgauge.Monitor).parameters.values())
    called_back.__signature__ = inspect.Signature(parameters[1:])  # type: ignore[attr-defined]
    return {
        "HeadgaugeCallback": (called_back, {}),
        "Monitor": (watched, {"model": model}),
        "dump": (headgauge.dump, {"model": model, "ids": IDS, "path": folder / "dump.safetensors"}),
        "normalize": (headgauge.normalize, {"logits": torch.zeros(2, 3), "rule": "softmax"}),
        "prove": (headgauge.prove, {"folder": folder / "missing", "texts": IDS}),
        "use": (changed, {"model": model, "rule": "ssmax"}),
    }


def tried(name: str, call: Callable[..., Any], arguments: dict[str, Any], changed: dict[str, Any]) -> str:
    """What is wrong with how a call ended; nothing if it is as promised."""
    print(f"{name}({', '.join(f'{key}={value!a}'[:90] for key, value in changed.items())})", flush=True)
    try:
        call(**{**arguments, **changed})
    except PROMISED as error:
        text = str(error)
        if not text.strip() or MACHINERY.search(text):
            return f"{type(error).__name__} of the machinery: {text[:200]!r}"
        if isinstance(error, errors.Error) or any(key in text for key in (*changed, name.split(".")[0])):
            return ""
        if isinstance(error, TypeError) and OF_PYTHON.search(text):
            return ""
        return f"{type(error).__name__} that names no argument: {text[:200]!r}"
    except BaseException as error:  # noqa: BLE001 - whatever else there is
        return f"{type(error).__name__}: {str(error)[:200]!r}"
    return ""


def parameters_of(call: Callable[..., Any]) -> list[str]:
    kinds = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    return [p.name for p in inspect.signature(call).parameters.values() if p.kind not in kinds]


def all_calls(folder: Path) -> Iterator[tuple[str, str]]:
    seen: set[str] = set()
    for name, (call, arguments) in good(folder).items():
        for parameter in parameters_of(call):
            many = [*values(), *(own() for own in OWN)]
            for value in many[:FEW] if parameter in seen else many:
                if name != "example_model" or not isinstance(value, str | None):  # pip would fetch the model
                    yield tried(name, call, arguments, {parameter: value}), f"{name}({parameter}={value!a})"
            seen.add(parameter)


def random_value(draw: random.Random, depth: int = 0) -> Any:
    if depth < 3 and draw.random() < 0.3:
        items = [random_value(draw, depth + 1) for _ in range(draw.randrange(3))]
        return draw.choice((list, tuple, lambda given: dict(enumerate(given))))(items)
    return draw.choice([*values(), *(own() for own in OWN)])


def random_calls(folder: Path, draw: random.Random, count: int) -> Iterator[tuple[str, str]]:
    calls = good(folder)
    del calls["example_model"]
    named = {name: given for name, given in calls.items() if parameters_of(given[0])}
    for _ in range(count):
        name = draw.choice(sorted(named))
        call, arguments = named[name]
        chosen = draw.sample(
            parameters_of(call), k=draw.choice((1, 1, 2)) if len(parameters_of(call)) > 1 else 1
        )
        changed = {parameter: random_value(draw) for parameter in chosen}
        yield tried(name, call, arguments, changed), f"{name}({changed!a})"


def main(folder: str, *which: str) -> int:
    warnings.simplefilter("ignore")
    calls = (
        all_calls(Path(folder))
        if which == ("all",)
        else random_calls(Path(folder), random.Random(which[0]), int(which[1]))
    )
    wrong = [f"{call}: {what}" for what, call in calls if what]
    print("\n".join(("", "wrong:", *wrong)), file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
