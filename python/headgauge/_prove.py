"""An export that transformers loads, decoded token by token and compared with what headgauge measures."""

from __future__ import annotations

import hashlib
import inspect
import json
import math
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM
from transformers.cache_utils import DynamicCache

from headgauge import _core, _next_tokens
from headgauge._attention import last_logits
from headgauge._cache import whole_bytes
from headgauge._swap import use
from headgauge._texts import TextOrIds, checked_path, split, texts_of
from headgauge.errors import BadInputError, UsageError


@dataclass(frozen=True)
class _Case:
    """Tokens, of which the last `answer` ones are judged: all but the first of a text."""

    ids: list[int]
    answer: int
    task: str | None
    """None: a piece of a text."""


@dataclass
class Answers:
    """The answers of a task that are right: of the model as it is, as measured under the plan, and decoded."""

    cases: int = 0
    unchanged: int = 0
    measured: int = 0
    decoded: int = 0
    differ: int = 0
    """Cases that are right only as measured, or only decoded."""


@dataclass
class Proof:
    """What prove() found."""

    documents: int = 0
    tokens: int = 0
    """Number of losses compared."""
    largest_difference: float = 0
    """The largest difference of a token's loss, decoded and measured, in nats."""
    measured_change: float = float("nan")
    """The mean change of the loss of text under the plan, in nats a token, by headgauge.use()."""
    decoded_change: float = float("nan")
    """The same change, decoded."""
    answers: dict[str, Answers] = field(default_factory=dict)
    held_bytes: int = 0
    """Bytes of the cache after the longest document."""
    whole_bytes: int = 0
    """Bytes of the model's own cache after as many tokens; its layers with a window keep only that."""
    tolerance: float = 0

    @property
    def holds(self) -> bool:
        """Returns whether every token's loss and every answer is, decoded, what headgauge measures."""
        same = all(task.differ == 0 for task in self.answers.values())
        return self.documents > 0 and same and self.largest_difference <= self.tolerance

    def __str__(self) -> str:
        lines = [
            f"{self.documents} documents, {self.tokens} losses: decoded and measured differ by {self.largest_difference:.1e} nats at most",
            f"cache: {self.held_bytes / self.whole_bytes:.1%} of {self.whole_bytes / 2**20:.1f} MiB",
        ]
        if not math.isnan(self.measured_change):
            lines.append(
                f"loss of text: {self.measured_change:+.4f} nats measured, {self.decoded_change:+.4f} decoded"
            )
        lines += [
            f"{name}: {task.unchanged} of {task.cases} right unchanged, {task.measured} measured, {task.decoded} decoded"
            + (f"; {task.differ} differ" if task.differ else "")
            for name, task in self.answers.items()
        ]
        return "\n".join(lines)


def prove(
    folder: str | os.PathLike[str],
    texts: TextOrIds = (),
    tasks: str | os.PathLike[str] | Sequence[Any] = (),
    *,
    length: int | None = None,
    pieces: int = 4,
    cases: int = 16,
    device: str = "cpu",
    tolerance: float = 1e-3,
) -> Proof:
    """Decodes by a folder that `headgauge plan --export hf` or `hf-layers` wrote, as a user does: a prompt in
    one pass, then token by token. The prompt of a text is its first half. Compares the loss of every token
    and the answers with what headgauge.use() with all weights in memory, which shares no code with the export, computes under the same
    plan with the whole text in view. Tells the bytes of the cache. `hf-layers` may have another class than the
    model, which then computes both: the proof is of its windows and its cache.

    `texts`: texts, paths of text files or lists of ids, as scan() takes them; of each at most `pieces` pieces
    of `length` tokens (by default the context of the plan), spread over it. `tasks`: task files
    (docs/tasks.md), of each at most `cases` cases, spread over it. headgauge's tokenizer, which measured the
    plan, reads the texts. `tolerance`: nats that two ways of computing the same loss may differ by, in
    float32.

    Raises BadInputError for a folder that is no export or has other code than headgauge's (none of it runs), for texts and tasks that hold nothing, and for task
    files as scan() does; UsageError for numbers that are too small.
    """
    place = Path(checked_path(folder, "folder"))
    plan, config = (_object(place / name) for name in ("plan.json", "config.json"))
    has_code = str(config.get("model_type")).startswith("headgauge_")
    if not (has_code or config.get("layer_types")):
        raise BadInputError(f"{place}: expected {_EXPORT}, found another model")
    _require_own_code(place, config, has_code)
    length = _context(place, plan) if length is None else length
    for name, value, least in (("length", length, 2), ("pieces", pieces, 1), ("cases", cases, 1)):
        if value < least:
            raise UsageError(f"{name}: expected at least {least}, found {value}")

    def loaded(**changed: Any) -> Any:
        # config.json may name other weights, or a kernel to fetch.
        safe = {"use_safetensors": True, "attn_implementation": "sdpa", "trust_remote_code": has_code}
        model: Any = AutoModelForCausalLM.from_pretrained(place, dtype=torch.float32, **safe, **changed)
        return model.eval().to(device)

    model = loaded()
    # The model as it is, which is measured under the plan.
    whole = model if has_code else loaded(layer_types=["full_attention"] * model.config.num_hidden_layers)
    documents = [
        *_pieces(place, split(texts), length, pieces),
        *_cases(place, split(tasks), model.config.vocab_size, cases),
    ]
    if not documents:
        raise BadInputError("prove: expected texts or tasks, found none")
    for case in documents:
        if max(case.ids) >= model.config.vocab_size:
            raise BadInputError(
                f"ids: expected ids from 0 to {model.config.vocab_size - 1}, found {max(case.ids)}; "
                "use the model's own tokenizer"
            )
    with torch.no_grad():
        return _compared(model, whole, plan, documents, tolerance)


_EXPORT = "a folder of headgauge plan --export hf or hf-layers"
# SHA-256 of each modeling_headgauge.py of 0.1.0, for BASE = "llama"; the last is today's. A text that
# changes gets a line.
_TEXTS = (
    "6f27e8c374ec7d77a371bf83d9413a57d003387dc0c527fec0a072d11042b680",
    "5253449fbe28e7fd3c362b90705005210c82b1029bb1fc93d178edc609871a47",
    "a1ce440905617162fa4c23cc235d55188d13c1ecfab74546dd3278363d7dcf61",
)
_CLASS = "modeling_headgauge.Headgauge"
_CODE = {"AutoConfig": f"{_CLASS}Config", "AutoModelForCausalLM": f"{_CLASS}ForCausalLM"}


def _require_own_code(folder: Path, config: dict[str, Any], has_code: bool) -> None:
    """Raises BadInputError if loading the folder would run code that headgauge did not write."""
    file, text = folder / "modeling_headgauge.py", b""
    if has_code and file.is_file():
        text = re.sub(rb'(?m)^BASE = "[\w.-]+"', b'BASE = "llama"', file.read_bytes(), count=1)
    known = hashlib.sha256(text).hexdigest() in _TEXTS
    # transformers runs the code of custom_generate, too.
    others = [
        one
        for one in folder.iterdir()
        if one.name == "custom_generate" or one.suffix == ".py" and one != file
    ]
    for part in (config, *(part for part in config.values() if isinstance(part, dict))):
        for key, value in part.items():
            # transformers fetches and runs the kernel that it names, whatever the call says.
            if "_implementation" in key and value not in (None, "eager", "sdpa"):
                raise BadInputError(f"{folder}: expected no kernel in config.json, found {key}; remove it")
    if others or known != has_code or config.get("auto_map") != (_CODE if has_code else None):
        raise BadInputError(f"{folder}: expected code of headgauge alone, found other; export the plan again")


def _context(folder: Path, plan: dict[str, Any]) -> int:
    context = plan.get("context") or 512
    if not isinstance(context, int):
        raise BadInputError(
            f"{folder / 'plan.json'}: context: expected a number of tokens, found {context!r}"
        )
    return context


def _object(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise BadInputError(f"{file.parent}: expected {_EXPORT}, found: {error}") from error
    if not isinstance(found, dict):
        raise BadInputError(f"{file}: expected an object, as in {_EXPORT}, found another value")
    return found


def _tokenizer(folder: Path) -> _core.Tokenizer:
    """Returns headgauge's tokenizer, which measured the plan."""
    own = any((folder / name).exists() for name in ("tokenizer.json", "vocab.json", "vocab.txt"))
    return _core.Tokenizer.load(checked_path(folder if own else next(folder.glob("*.gguf"), folder)))


def _pieces(folder: Path, texts: Sequence[Any], length: int, most: int) -> Iterator[_Case]:
    tokenizer = None
    for text in texts_of(texts, "texts") if texts else ():
        ids = text.ids
        if ids is None:
            content = _whole(Path(text.name)) if text.utf8 is None else text.utf8
            tokenizer = tokenizer or _tokenizer(folder)
            ids = tokenizer.encode(content)
        whole = max(len(ids) // length, 1)
        for k in range(min(whole, most)):
            first = k * whole // min(whole, most) * length
            piece = ids[first : first + length]
            if len(piece) > 1:
                yield _Case(piece, len(piece) - 1, None)


def _whole(file: Path) -> str:
    """Reads a file as it is, without its byte order mark."""
    try:
        return file.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInputError(f"{file}: expected a text file, found: {error}") from error


def _cases(folder: Path, files: Sequence[Any], vocabulary: int, most: int) -> Iterator[_Case]:
    tokenizer = None
    if files:
        try:
            tokenizer = _tokenizer(folder)
        except BadInputError:  # the folder has none: ids need none
            pass
    for file in files:
        for task, prompt, answer in _core.task_cases(checked_path(file), tokenizer, vocabulary, most):
            yield _Case([*prompt, *answer], len(answer), task)


def _compared(model: Any, whole: Any, plan: Any, documents: Sequence[_Case], tolerance: float) -> Proof:
    proof = Proof(documents=len(documents), tolerance=tolerance)
    changes = torch.zeros(2, dtype=torch.float64)
    of_text = 0
    planned = model.config._attn_implementation
    for case in documents:
        ids = torch.tensor([case.ids], device=model.device)
        whole.set_attn_implementation("sdpa")
        asked = last_logits(whole, case.answer + 1)
        unchanged, right = _judged(whole(ids, use_cache=False, **asked).logits, case)
        with use(whole, plan) as change:
            change._by_kernels = False
            measured, right_measured = _judged(whole(ids, use_cache=False, **asked).logits, case)
        model.set_attn_implementation(planned)
        logits, held, of_whole = _decoded(model, ids, case, whole.config)
        decoded, right_decoded = _judged(logits, case)
        proof.tokens += len(decoded)
        proof.largest_difference = max(proof.largest_difference, float((decoded - measured).abs().max()))
        if of_whole > proof.whole_bytes:
            proof.held_bytes, proof.whole_bytes = held, of_whole
        if case.task is not None:
            of_task = proof.answers.setdefault(case.task, Answers())
            of_task.cases += 1
            of_task.unchanged += right
            of_task.measured += right_measured
            of_task.decoded += right_decoded
            of_task.differ += right_measured != right_decoded
        else:
            changes += torch.stack([(found - unchanged).sum() for found in (measured, decoded)])
            of_text += len(unchanged)
    if of_text:
        proof.measured_change, proof.decoded_change = (changes / of_text).tolist()
    return proof


def _judged(logits: torch.Tensor, case: _Case) -> tuple[torch.Tensor, bool]:
    """Returns the losses of the judged tokens, and whether all of them are the most likely ones."""
    asked, ids = logits[0, -case.answer - 1 :], case.ids[-case.answer - 1 :]
    losses = torch.tensor(_next_tokens.losses(asked, ids), dtype=torch.float64)
    return losses, all(_next_tokens.right(asked, ids))


def _decoded(model: Any, ids: Any, case: _Case, config: Any) -> tuple[torch.Tensor, int, int]:
    """Returns the logits through the cache, its bytes, and those of the cache of a model of this config as it is.
    The prompt comes in one pass, then token by token; the prompt of a text is its first half."""
    cache: Any = DynamicCache(config=model.config)
    logits, asked = [], {} if case.task is None else last_logits(model, 1)
    name = "cache" if "cache" in inspect.signature(type(model).forward).parameters else "past_key_values"
    prompt = len(case.ids) // 2 if case.task is None else len(case.ids) - case.answer
    for part in (ids[:, :prompt], *ids[:, prompt:].split(1, dim=1)):
        logits.append(model(part, use_cache=True, **asked, **{name: cache}).logits)
    held = sum(_bytes(layer) for layer in cache.layers)
    return torch.cat(logits, dim=1), held, whole_bytes(config, cache.layers, ids.shape[1])


def _bytes(layer: Any) -> int:
    """Returns what a layer of the cache holds: one of the export's code, or of transformers."""
    return int(layer.nbytes if hasattr(layer, "nbytes") else layer.keys.nbytes + layer.values.nbytes)
