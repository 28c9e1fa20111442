"""An export that transformers loads, decoded token by token and compared with what headgauge measures."""

from __future__ import annotations

import itertools
import json
import math
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer
from transformers.cache_utils import DynamicCache

from headgauge import _core
from headgauge._swap import use
from headgauge._texts import TextOrIds, as_ids, split, texts_of
from headgauge.errors import BadInputError


@dataclass(frozen=True)
class _Case:
    """Tokens, of which the last `answer` ones are judged; a text has no task and is judged whole."""

    ids: list[int]
    answer: int
    task: str = ""


@dataclass
class Answers:
    """The answers of a task that are right: of the model as it is, as measured under the plan, and decoded."""

    cases: int = 0
    unchanged: int = 0
    measured: int = 0
    decoded: int = 0


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
    """Bytes of the model's own cache after as many tokens."""
    tolerance: float = 0

    @property
    def holds(self) -> bool:
        """Returns whether every token's loss and every answer is, decoded, what headgauge measures."""
        same = all(task.measured == task.decoded for task in self.answers.values())
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
    tokenizer: Any = None,
    tolerance: float = 1e-3,
) -> Proof:
    """Decodes by a folder that `headgauge plan --export hf` wrote, as a user does: texts token by token, and
    answers after the prompt in one pass. Compares the loss of every token and the answers with what
    headgauge.use(), which shares no code with the export, computes under the same plan with the whole text
    in view. Tells the bytes of the cache.

    `texts`: texts, paths of text files or lists of ids, as scan() takes them; of each at most `pieces` pieces of `length`
    tokens (by default the context of the plan), spread over it. `tasks`: task files (docs/tasks.md), at
    most `cases` cases of each. `tokenizer`: by default that of the folder; ids need none. `tolerance`:
    nats that two ways of computing the same loss may differ by, in float32.

    Raises BadInputError for a folder without a plan, for texts and tasks that hold nothing, and for a
    line of a task file without a prompt and an answer.
    """
    place = Path(folder)
    try:
        plan = json.loads((place / "plan.json").read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise BadInputError(
            f"{place}: expected a folder of headgauge plan --export hf, found: {error}"
        ) from error
    model = AutoModelForCausalLM.from_pretrained(place, trust_remote_code=True, dtype=torch.float32).eval()
    model.to(device)
    length = length or int(plan.get("context") or 512)
    read = _Reader(place, tokenizer)
    documents = [
        *_pieces(
            (read.text(text) for text in texts_of(texts, "texts")) if split(texts) else (), length, pieces
        ),
        *(case for file in split(tasks) for case in read.tasks(Path(file), cases)),
    ]
    if not documents:
        raise BadInputError("prove: expected texts or tasks, found none")
    with torch.no_grad():
        return _compared(model, plan, documents, tolerance)


class _Reader:
    def __init__(self, folder: Path, tokenizer: Any) -> None:
        self._folder, self._tokenizer = folder, tokenizer

    def _ids(self, text: str, special: bool) -> list[int]:
        if self._tokenizer is None:
            gguf = [file.name for file in self._folder.glob("*.gguf")]
            given = {"gguf_file": gguf[0]} if gguf else {}
            self._tokenizer = AutoTokenizer.from_pretrained(self._folder, trust_remote_code=True, **given)
        return list(self._tokenizer(text, add_special_tokens=special)["input_ids"])

    def text(self, text: _core.Text) -> list[int]:
        if text.ids is not None:
            return text.ids
        return self._ids("".join(_lines(Path(text.name))) if text.utf8 is None else text.utf8, True)

    def tasks(self, file: Path, most: int) -> Iterator[_Case]:
        for number, line in enumerate(itertools.islice(_lines(file), most), 1):
            try:
                case = json.loads(line)
                prompt, answer = case["prompt"], case["answer"]
                task = case.get("task", file.stem)
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                raise BadInputError(
                    f"{file}: line {number}: expected a prompt and an answer, found {line[:80]!r}; see docs/tasks.md"
                ) from error
            prompt = self._ids(prompt, True) if isinstance(prompt, str) else as_ids(prompt)
            answer = self._ids(answer, False) if isinstance(answer, str) else as_ids(answer)
            yield _Case([*prompt, *answer], len(answer), task)


def _lines(file: Path) -> Iterator[str]:
    """Reads a file as it is, line by line."""
    try:
        with file.open(encoding="utf-8", newline="") as lines:
            yield from lines
    except (OSError, UnicodeDecodeError) as error:
        raise BadInputError(f"{file}: expected a text file, found: {error}") from error


def _pieces(texts: Iterable[list[int]], length: int, most: int) -> Iterator[_Case]:
    for ids in texts:
        whole = max(len(ids) // length, 1)
        for k in range(min(whole, most)):
            first = k * whole // min(whole, most) * length
            piece = ids[first : first + length]
            if len(piece) > 1:
                yield _Case(piece, len(piece) - 1)


def _compared(model: Any, plan: Any, documents: Sequence[_Case], tolerance: float) -> Proof:
    proof = Proof(documents=len(documents), tolerance=tolerance)
    changes: list[tuple[float, float]] = []
    planned = model.config._attn_implementation
    for case in documents:
        ids = torch.tensor([case.ids], device=model.device)
        model.set_attn_implementation("sdpa")
        unchanged, right = _judged(model(ids, use_cache=False).logits, case)
        with use(model, plan):
            measured, right_measured = _judged(model(ids, use_cache=False).logits, case)
        model.set_attn_implementation(planned)
        logits, held, whole = _decoded(model, ids, case)
        decoded, right_decoded = _judged(logits, case)
        proof.tokens += len(decoded)
        proof.largest_difference = max(proof.largest_difference, float((decoded - measured).abs().max()))
        if whole > proof.whole_bytes:
            proof.held_bytes, proof.whole_bytes = held, whole
        if case.task:
            of_task = proof.answers.setdefault(case.task, Answers())
            of_task.cases += 1
            of_task.unchanged += right
            of_task.measured += right_measured
            of_task.decoded += right_decoded
        else:
            changes.append((float((measured - unchanged).mean()), float((decoded - unchanged).mean())))
    if changes:
        proof.measured_change, proof.decoded_change = (
            sum(of) / len(changes) for of in zip(*changes, strict=True)
        )
    return proof


def _judged(logits: torch.Tensor, case: _Case) -> tuple[torch.Tensor, bool]:
    """Returns the losses of the judged tokens, and whether all of them are the most likely ones."""
    asked = logits[0, -case.answer - 1 : -1].double().cpu()
    targets = torch.tensor(case.ids[-case.answer :])
    losses = torch.nn.functional.cross_entropy(asked, targets, reduction="none")
    return losses, bool((asked.argmax(dim=-1) == targets).all())


def _decoded(model: Any, ids: torch.Tensor, case: _Case) -> tuple[torch.Tensor, int, int]:
    """Returns the logits through the cache, its bytes, and those of the model's own. The tokens come one
    by one, the prompt of a task in one pass."""
    cache, logits = DynamicCache(config=model.config), []
    prompt = len(case.ids) - case.answer
    for part in (ids[:, :prompt], *ids[:, prompt:].split(1, dim=1)):
        logits.append(model(part, use_cache=True, **{model.cache_name: cache}).logits)
    held = sum(layer.nbytes for layer in cache.layers)
    of_token = sum(layer.token_bytes for layer in cache.layers)
    return torch.cat(logits, dim=1), held, of_token * ids.shape[1]
