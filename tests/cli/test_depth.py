"""JSON that is nested deeper than any that makes sense, in every file that is read."""

from __future__ import annotations

import json
import zlib

from tests.cli.checkpoints import copy_golden
from tests.cli.command import BAD_INPUT, CommandTest
from tests.places import ROOT

MADE = ROOT / "tests/results/data/made.json"
DEEP = 80_000
SAYS = "nested deeper than 64"


class Depth(CommandTest):
    def setUp(self) -> None:
        super().setUp()
        copy_golden("gpt2/plain", self.folder / "model")
        self.ids(64)
        self.scan = ("scan", "model", "--tokens", "ids.txt", "--measures", "weights")
        self.made = json.loads(MADE.read_text())

    def deep(self, name: str, document: dict, key: str, opened: str = "[", closed: str = "]") -> None:
        """The document with a value of many levels under a key."""
        text = json.dumps({**document, key: "HERE"})
        self.write(name, text.replace('"HERE"', opened * DEEP + "1" + closed * DEEP))

    def test_in_every_part_of_results(self) -> None:
        self.write("good.json", MADE.read_text())
        for part in ("settings", "tool", "model", "text", "timings", "coords", "metrics", "flags", "x"):
            for opened, closed in (("[", "]"), ('{"a":', "}")):
                self.deep("deep.json", self.made, part, opened, closed)
                for command in (
                    ("report", "deep.json"),
                    ("diff", "deep.json", "good.json"),
                    ("diff", "good.json", "deep.json"),
                ):
                    self.refuse(BAD_INPUT, *command, says=("deep.json", SAYS))

    def test_in_limits_and_plans(self) -> None:
        self.write("good.json", MADE.read_text())
        self.deep("l.json", {"schema": "headgauge.limits/1"}, "limits")
        self.refuse(BAD_INPUT, "diff", "good.json", "good.json", "--limits", "l.json", says=SAYS)
        self.deep("p.json", {"schema": "headgauge.plan/1"}, "heads")
        self.refuse(BAD_INPUT, *self.scan, "--plan", "p.json", says=("p.json", SAYS))

    def test_in_a_journal(self) -> None:
        for key in ("identity", "request"):
            self.deep("header.json", {}, key)
            header = (self.folder / "header.json").read_bytes()
            line = b"headgauge.journal/1 %d %08x" % (len(header), zlib.crc32(header))
            self.write("out/journal/part-1-of-1.journal", b"%s\n%s\n" % (line, header))
            self.refuse(BAD_INPUT, *self.scan, "--out", "out", says=(SAYS, "delete it to start again"))

    def test_in_the_parts_of_a_model(self) -> None:
        config = json.loads((self.folder / "model/config.json").read_text())
        self.deep("model/config.json", config, "more")
        self.refuse(BAD_INPUT, *self.scan, says=("model/config.json", SAYS))
        self.write("model/config.json", json.dumps(config))
        self.write("text.txt", "a text")
        self.deep("model/tokenizer.json", {"version": "1.0"}, "model")
        self.succeed("inspect", "model")
        self.refuse(BAD_INPUT, "scan", "model", "--text", "text.txt", says="model/tokenizer.json")
        (self.folder / "model/tokenizer.json").unlink()
        self.write("model/vocab.txt", "[UNK]\na\n")
        self.deep("model/tokenizer_config.json", {}, "do_lower_case")
        self.refuse(BAD_INPUT, "scan", "model", "--text", "text.txt", says="model/")
        (self.folder / "model/model.safetensors").unlink()
        self.deep("model/model.safetensors.index.json", {}, "weight_map")
        self.refuse(BAD_INPUT, *self.scan, says=("model.safetensors.index.json", SAYS))
