"""text.sinks of a results.json that somebody else wrote: what is no sink is ignored."""

from __future__ import annotations

import json

from tests.cli.command import CommandTest
from tests.places import ROOT

MADE = ROOT / "tests/results/data/made.json"
SINK = {"position": 0, "heads": 2.5, "first_layer": 0, "last_layer": 1}
NONE = {
    "a string": "0",
    "a number": 0,
    "null": None,
    "an object": SINK,
    "numbers": [0, 1],
    "lists": [[SINK]],
    "nothing in it": [{}],
    "a negative position": [{**SINK, "position": -1}],
    "a position past the text": [{**SINK, "position": 64}],
    "a position past all texts": [{**SINK, "position": 10**30}],
    "half a position": [{**SINK, "position": 0.5}],
    "a position of another type": [{**SINK, "position": "first"}],
    "more heads than there are": [{**SINK, "heads": 1e300}],
    "layers in the wrong order": [{**SINK, "first_layer": 1, "last_layer": 0}],
    "the same again": [SINK, SINK],
    "very many": [{**SINK, "position": k} for k in range(100_000)],
    "lists in lists": json.loads("[" * 50 + "]" * 50),
}


class ForeignSinks(CommandTest):
    def setUp(self) -> None:
        super().setUp()
        self.made = json.loads(MADE.read_text())
        self.write("made.json", MADE.read_text())

    def test_report_and_diff_read_the_rest(self) -> None:
        plain = self.succeed("diff", "made.json", "made.json").out
        for name, sinks in NONE.items():
            with self.subTest(name):
                text = {**self.made["text"], "sinks": sinks}
                self.write("sinks.json", json.dumps({**self.made, "text": text}))
                self.succeed("report", "sinks.json", "--out", "page.html")
                for pair in (("made.json", "sinks.json"), ("sinks.json", "made.json")):
                    shown = self.succeed("diff", *pair).out
                    self.assertEqual(shown.replace("sinks.json", "made.json"), plain)

    def test_a_text_that_is_no_object_is_refused(self) -> None:
        for text in ([SINK], "sinks", 7):
            self.write("sinks.json", json.dumps({**self.made, "text": text}))
            for command in (("report", "sinks.json"), ("diff", "made.json", "sinks.json")):
                self.refuse(3, *command, says=("sinks.json", "text", "an object"))
