"""What becomes of a model type under headgauge: it works, or is refused by a sentence."""

import contextlib
import json
import resource
import signal
import sys
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import tiny
import torch
import transformers

import headgauge
from headgauge import errors

WITHIN = 1e-5  # nats of entropy, and mass
SECONDS = 40  # of the processor, for a model type: a busy machine changes no outcome
MEMORY = 6 << 30  # bytes that a worker may have


@dataclass
class Outcome:
    """`kind`: works; refused (`text`: the sentence); not run (`text`: why); wrong (`text`: what)."""

    kind: str
    text: str = ""


def entropy_and_mass(weights: torch.Tensor) -> Any:
    """(2, heads) of weights (1, heads, queries, keys). Entropy is over the keys' shares: a sink has the rest."""
    given = weights[0].double()
    shares = given / given.sum(-1, keepdim=True).clamp_min(1e-300)
    entropy = -(shares * shares.clamp_min(1e-300).log()).sum(-1)
    return torch.stack([entropy, given.sum(-1)]).mean(-1).numpy()


def found_of(results: Any) -> Any:
    """The same (layers, 2, heads) of what was measured."""
    return np.stack([results[name].values[..., 0] for name in ("entropy_with_sinks", "mass")], axis=1)


@contextlib.contextmanager
def eager_attention(keep: list[tuple[Any, torch.Tensor]]) -> Iterator[None]:
    """Every model's own eager function also shows its weights: (module, weights)."""
    changed = []
    for module in [m for name, m in sys.modules.items() if name.startswith("transformers.models.")]:
        for name in [name for name in vars(module) if name.endswith("eager_attention_forward")]:
            own = getattr(module, name)

            def watched(layer: Any, *args: Any, own: Any = own, **more: Any) -> Any:
                output, weights = own(layer, *args, **more)
                keep.append((layer, weights))
                return output, weights

            changed.append((module, name, own))
            setattr(module, name, watched)
    try:
        yield
    finally:
        for module, name, own in changed:
            setattr(module, name, own)


def tensors(output: Any) -> list[torch.Tensor]:
    """All that a model gives, in order."""
    if isinstance(output, torch.Tensor):
        return [output]
    parts = output.values() if hasattr(output, "values") else output
    return [t for part in parts for t in tensors(part)] if isinstance(output, list | tuple | dict) else []


def forward(model: Any, given: dict[str, Any], **more: Any) -> Any:
    with torch.no_grad():
        return model(**given, **more)


def same(one: list[torch.Tensor], other: list[torch.Tensor]) -> bool:
    return len(one) == len(other) and all(
        torch.equal(a.nan_to_num(), b.nan_to_num()) for a, b in zip(one, other, strict=True)
    )


def close(one: list[torch.Tensor], other: list[torch.Tensor]) -> bool:
    return len(one) == len(other) and all(
        a.shape == b.shape and torch.allclose(a.float(), b.float(), rtol=1e-3, atol=1e-3, equal_nan=True)
        for a, b in zip(one, other, strict=True)
    )


def expected(eager: Any, given: dict[str, Any]) -> list[Any]:
    """Entropy and mass of the heads of each layer, by eager attention's own weights."""
    keep: list[tuple[Any, torch.Tensor]] = []
    with eager_attention(keep):
        output = forward(eager, given)
    if "decoder_input_ids" in given:
        decoder = set(eager.get_decoder().modules())
        length = given["decoder_input_ids"].shape[1]
        keep = [(m, w) for m, w in keep if m in decoder and tuple(w.shape[-2:]) == (length, length)]
    if not keep:
        output = forward(eager, given, output_attentions=True)
        found = getattr(output, "decoder_attentions", None) or getattr(output, "attentions", None) or ()
        keep = [(None, weights) for weights in found]
    return [entropy_and_mass(weights) for _, weights in keep]


def scan(model: Any, given: dict[str, Any], **more: Any) -> Any:
    """As a user would."""
    rest = {name: value for name, value in given.items() if name not in ("input_ids", "decoder_input_ids")}
    if "decoder_input_ids" in given:
        inputs = {name: value for name, value in given.items() if name != "decoder_input_ids"}
        return headgauge.scan(model, given["decoder_input_ids"][0], inputs=inputs, **more)
    ids = given["input_ids"][0] if "input_ids" in given else None
    return headgauge.scan(model, ids, **({"inputs": rest} if rest else {}), **more)


def tried(kind: str) -> tuple[Any, Any, dict[str, Any]] | str:
    """A tiny model of a type, another with eager attention, and what its forward pass takes; or why there is none."""
    why = ""
    for attempt in tiny.attempts(kind):
        try:
            config = attempt()
            model = tiny.spread(tiny.made(tiny.model_class(kind), config, "sdpa"))
            for given in tiny.inputs(model):
                try:
                    if same(tensors(forward(model, given)), tensors(forward(model, given))):
                        eager = tiny.made(tiny.model_class(kind), attempt(), "eager")
                        eager.load_state_dict(model.state_dict())
                        forward(eager, given)  # some cannot, with fewer key-value heads than heads
                        return model, eager, given
                    why = why or "its outputs differ from pass to pass"
                except Exception as error:  # noqa: BLE001 - whatever the model raises
                    why = why or f"{type(error).__name__}: {error}"
        except Exception as error:  # noqa: BLE001
            why = why or f"{type(error).__name__}: {error}"
    return why


def outcome(kind: str) -> Outcome:
    found = tried(kind)
    return Outcome("not run", found) if isinstance(found, str) else check(*found)


def check(model: Any, eager: Any, given: dict[str, Any]) -> Outcome:
    before = tensors(forward(model, given))
    meanwhile: list[bool] = []
    ids = given.get("decoder_input_ids", given.get("input_ids"))
    options: dict[str, Any] = {"measures": "weights"}
    if ids is not None:
        options["lengths"] = [ids.shape[1]]

    def watch(*_: Any) -> None:
        if len(meanwhile) < 2:
            meanwhile.append(same(tensors(forward(model, given)), before))

    try:
        found = found_of(scan(model, given, progress=watch, **options))
        if not close(
            before, tensors(forward(eager, given))
        ):  # two models, of which eager's weights tell of one
            found = found_of(scan(eager, given, **options))
    except errors.Error as error:
        as_before = same(tensors(forward(model, given)), before)
        return (
            Outcome("refused", str(error)) if as_before else Outcome("wrong", "other outputs after a refusal")
        )
    except Exception as error:  # noqa: BLE001
        return Outcome("wrong", f"{type(error).__name__}: {error}")
    if not all(meanwhile):
        return Outcome("wrong", "other outputs while it is watched")
    if not same(tensors(forward(model, given)), before):
        return Outcome("wrong", "other outputs afterwards")
    known = expected(eager, given)
    if not known:
        return Outcome("wrong", "eager attention shows no weights")
    heads, own = ([layer.shape[1] for layer in layers] for layers in (found, known))
    if heads != own:
        return Outcome("wrong", f"layers of {heads} heads, and eager attention has {own}")
    apart = float(np.abs(np.array(known) - found).max())
    return (
        Outcome("works")
        if apart <= WITHIN
        else Outcome("wrong", f"entropy or mass is {apart:.2g} from eager's")
    )


def serve() -> None:
    """Reads model types, one a line, and writes what becomes of each, as JSON."""
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")
    transformers.logging.set_verbosity_error()
    answers, sys.stdout = sys.stdout, sys.stderr  # models print what they please
    for line in sys.stdin:
        signal.setitimer(signal.ITIMER_PROF, SECONDS)  # which ends the process
        found = outcome(line.strip())
        print(json.dumps([found.kind, found.text]), file=answers, flush=True)


if __name__ == "__main__":
    serve()
