"""headgauge task: generated cases, checked by a second reader, and what cannot be generated."""

import hashlib
import json
import re

from tests.cli.checkpoints import copy_golden
from tests.cli.command import BAD_INPUT, UNSUPPORTED, USAGE, CommandTest
from tests.places import ROOT

DEMO = ROOT / "demo/model"
TASKS = ("copy", "passkey", "keys", "replay", "repeats")
KEYS = "task prompt answer control source distance prompt_text answer_text tokenizer".split()
TEXTS = ("prompt_text", "answer_text")


def bytes_of_tokens() -> list[bytes]:
    """The bytes of every token of the demo model, read without headgauge: a byte-level BPE writes a
    byte as a printable character."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    letters = {chr(byte): byte for byte in plain}
    others = [byte for byte in range(256) if byte not in plain]
    letters.update({chr(256 + k): byte for k, byte in enumerate(others)})
    file = json.loads((DEMO / "tokenizer.json").read_text("utf-8"))
    special = {token["content"] for token in file["added_tokens"]}
    by_id = {id_: token for token, id_ in file["model"]["vocab"].items()}
    return [
        by_id[k].encode() if by_id[k] in special else bytes(letters[c] for c in by_id[k])
        for k in range(len(by_id))
    ]


class TaskTest(CommandTest):
    def make(self, task: str, *options, out: str = "made.jsonl") -> list[dict]:
        self.succeed("task", task, "--model", DEMO, "--out", out, *options)
        return [json.loads(line) for line in (self.folder / out).read_text("utf-8").splitlines()]


class Oracle(TaskTest):
    """The keys and texts of a generated file, worked out from its bytes alone; EveryTask has the rest."""

    tokens = bytes_of_tokens()

    def text(self, ids: list[int]) -> str:
        return b"".join(self.tokens[k] for k in ids).decode()

    def check(self, case: dict, task: str) -> None:
        texts = {key: case[key] for key in ("prompt_text", "answer_text") if key in case}
        self.assertEqual([key for key in KEYS if key in case or key not in TEXTS], list(case))
        self.assertEqual(case["task"], task)
        prompt, control = case["prompt"], case["control"]
        said, asked = self.text(prompt), self.text(case["answer"])
        if texts or task != "repeats":  # parts of words that meet may be another token
            self.assertEqual(texts, {"prompt_text": said, "answer_text": asked})
        # The control differs in the source, and nowhere before it.
        at = len(prompt) - case["distance"]
        same = next(k for k, (a, b) in enumerate(zip(prompt, control, strict=True)) if a != b)
        self.assertGreaterEqual(same, at - 20)
        self.assertEqual(prompt[-5:], control[-5:])

    def test_of_every_task(self) -> None:
        for task in TASKS:
            cases = self.make(task, "--cases", 25, "--length", 400, "--seed", 3)
            self.assertEqual(len(cases), 25)
            for case in cases:
                self.check(case, task)
                self.assertEqual(len(case["prompt"] + case["answer"]), 400)

    def test_of_what_answers_it(self) -> None:
        """A reader of the text alone finds the answers, and none in the controls."""
        for case in self.make("keys", "--cases", 10, "--items", 8):
            question = case["prompt_text"].rpartition("? ")[2]
            answers = re.findall(re.escape(question) + r"( \w+)\.", case["prompt_text"])
            self.assertEqual(answers, [case["answer_text"]])
            self.assertEqual(re.findall(re.escape(question) + r"( \w+)\.", self.text(case["control"])), [])

    def test_the_sum_of_the_tokenizer(self) -> None:
        whole = re.compile("\ufffd")
        file = json.loads((DEMO / "tokenizer.json").read_text("utf-8"))
        by_id = {id_: token for token, id_ in file["model"]["vocab"].items()}
        total = hashlib.sha256()
        for k, token in enumerate(self.tokens):
            text = token.decode("utf-8", "replace")
            total.update((by_id[k] if whole.search(text) else text.replace("\0", "\u2400")).encode() + b"\n")
        self.assertEqual(self.make("copy", "--cases", 1)[0]["tokenizer"], total.hexdigest())


class Options(TaskTest):
    def test_a_text_is_the_haystack(self) -> None:
        self.write("hay.txt", "".join(f"Line {k} of the haystack.\n" for k in range(2000)))
        for case in self.make("passkey", "--cases", 3, "--text", "hay.txt"):
            self.assertGreater(case["prompt_text"].count("of the haystack"), 20)

    def test_quiet_prints_nothing(self) -> None:
        asked = ("task", "copy", "--model", DEMO, "--cases", 1, "--out", "a.jsonl")
        self.assertEqual(self.succeed(*asked).out, "Written: a.jsonl\n")
        self.assertEqual(self.succeed(*asked, "--quiet").out, "")

    def test_help_names_every_task(self) -> None:
        text = self.succeed("task", "--help").out
        for task in TASKS:
            self.assertRegex(text, rf"(?m)^ +{task}: ")


class Refused(TaskTest):
    def test_what_does_not_make_sense(self) -> None:
        self.write("short.txt", "Too short.")
        self.write("bad.txt", b"\xff\xfe\x00")
        copy_golden("gpt2/plain", self.folder / "bare")
        copy_golden("bert/defaults", self.folder / "bert")
        out, demo = "--out made.jsonl", f"--model {DEMO} --out made.jsonl"
        self.refuse_each(
            (USAGE, demo, "expected NAME, found none"),
            (USAGE, f"copy {out}", "expected --model MODEL, found none"),
            (USAGE, f"copy --model {DEMO}", "expected a file to write, found no --out"),
            (USAGE, f"passkeys {demo}", "passkey, keys", "did you mean passkey?"),
            (USAGE, f"copy {demo} --length 20", "the task copy: expected a length of at least 52"),
            (USAGE, f"copy {demo} --length 2000", "at most 1024 tokens, the model's context"),
            (USAGE, f"copy {demo} --cases 0", "--cases"),
            (USAGE, f"copy {demo} --items 3", '--items: expected the task "keys"'),
            (BAD_INPUT, f"keys {demo} --text short.txt", "short.txt: expected a text of"),
            (BAD_INPUT, f"keys {demo} --text bad.txt", "bad.txt byte 0"),
            (BAD_INPUT, f"keys {demo} --text none.txt", "none.txt"),
            (BAD_INPUT, f"copy --model bare --length 100 {out}", "tokenizer"),
            (UNSUPPORTED, f"copy --model bert {out}", "continues a prompt"),
            base=("task",),
        )
