"""The schema accepts what headgauge writes and refuses what it must not write.

data/made.json is results_text(made_results()), byte for byte; json_test.cpp keeps it so.
"""

import copy
import json
import tempfile
import unittest
from pathlib import Path

import jsonschema

from tests.results import schema

MADE = Path(__file__).parent / "data" / "made.json"


class Schema(unittest.TestCase):
    def setUp(self):
        self.made = json.loads(MADE.read_text(encoding="utf-8"))

    def refused(self, path: str, value, because: str):
        """Changes one place of the good file and expects a fault that says so."""
        changed = copy.deepcopy(self.made)
        *parents, last = path.split("/")
        place = changed
        for key in parents:
            place = place[int(key) if isinstance(place, list) else key]
        place[int(last) if isinstance(place, list) else last] = value
        faults = list(schema.faults_of(changed))
        self.assertTrue(any(because in fault for fault in faults), f"{path}: {faults}")

    def test_is_itself_a_valid_schema(self):
        jsonschema.Draft202012Validator.check_schema(json.loads(schema.SCHEMA.read_text()))

    def test_accepts_what_is_written(self):
        self.assertEqual(schema.validate(MADE), self.made)

    def test_every_required_key_is_required(self):
        added_later = {"summary"}  # files of the first versions lack it and stay valid
        for key in self.made.keys() - added_later:
            without = {name: value for name, value in self.made.items() if name != key}
            self.assertTrue(list(schema.faults_of(without)), key)

    def test_examples(self):
        example = {
            "layer": 0,
            "head": 1,
            "why": "far",
            "value": 0.5,
            "document": 0,
            "query": 70,
            "covered": 0.9,
            "keys": [3, 9],
            "weights": [0.5, 0.25],
        }
        passage = {"document": 0, "first": 60, "tokens": [" a", ""]}
        self.made |= {"examples": [example], "passages": [passage]}
        self.assertEqual(list(schema.faults_of(self.made)), [])
        self.refused("examples/0/why", "loud", "is not one of")
        self.refused("examples/0/keys", list(range(33)), "too long")
        self.refused("examples/0/covered", 1.5, "greater than the maximum")
        self.refused("examples/0/query", -1, "less than the minimum")
        self.refused("examples/0/weight", 1, "Additional properties")
        self.refused("passages/0/tokens", [7], "is not of type")
        self.refused("examples", [], "[] ")

    def test_token_losses(self):
        self.made |= {"token_losses": [{"document": 0, "position": 5, "losses": [1.5, 2]}]}
        self.assertEqual(list(schema.faults_of(self.made)), [])
        self.made["token_losses"][0]["losses"][1] = None
        self.assertEqual(list(schema.faults_of(self.made)), [])
        self.refused("token_losses/0/position", -1, "less than the minimum")
        self.refused("token_losses/0/losses", [1], "too short")
        self.refused("token_losses/0/loss", 1, "Additional properties")
        self.refused("token_losses", [], "[] ")

    def test_every_metric_is_declared(self):
        loss = self.made["metrics"]["loss"]
        for name, metric, fault in (
            ("surprise", loss, "surprise: not in the catalogue"),
            ("loss", loss | {"unit": "bits"}, "the unit is 'bits', declared is 'nats'"),
            ("loss", loss | {"none": -1}, "none is -1, declared is None"),
            ("surprise_change", loss | {"change_of": "surprise"}, "not in the catalogue"),
        ):
            changed = self.made | {"metrics": {name: metric}}
            self.assertTrue(any(fault in found for found in schema.faults_of(changed)), fault)
        for name, of in (
            ("loss_change", "loss"),
            ("gaussian_loss", None),
            ("entropy_with_sinks_change", "entropy_with_sinks"),
        ):
            metric = loss | ({"change_of": of} if of else {})
            self.assertEqual(list(schema.faults_of(self.made | {"metrics": {name: metric}})), [])

    def test_refuses_wrong_types_and_values(self):
        self.refused("schema", "headgauge.results/2", "does not match")
        self.refused("schema", "other/1", "does not match")
        self.refused("tool/name", "other", "'headgauge' was expected")
        self.refused("tool/threads", 0, "minimum")
        self.refused("model/layers", 0, "minimum")
        self.refused("text/sha256/0", "xyz", "not valid under any")
        self.refused("settings/top-n", 1, "does not match")
        self.refused("coords/length/0", 0, "minimum")
        self.refused("coords/layer_type/0", None, "not valid under any")
        self.refused("metrics/entropy_with_sinks/unit", "", "metrics.entropy_with_sinks.unit: ''")
        self.refused("metrics/entropy_with_sinks/values/0/0/0", "0.5", "not valid under any")
        self.refused("metrics/entropy_with_sinks/rows/0/0/0", -1, "not valid under any")
        self.refused("flags/0/name", "pretty", "is not one of")
        self.refused("flags/0/advice", "", "flags.0.advice: ''")
        self.refused("notices/0", "", "notices.0: ''")
        self.refused("timings/forward_s", -1, "minimum")

    def test_refuses_what_a_schema_cannot_say(self):
        self.refused("new", 1, "new: not in the schema")
        self.refused("metrics/loss/quantiles", [1], "loss.quantiles: not in the schema")
        self.refused("metrics/loss/dims", ["nowhere"], "no coords ['nowhere']")
        self.refused("metrics/loss/values", [[1.0]], "sizes [1, 2]")
        self.refused("metrics/loss/values", [1.0], "sizes [1, 2]")
        self.refused("metrics/entropy_with_sinks/values/1/2", [1.0], "sizes [2, 3, 2]")
        self.refused("metrics/entropy_with_sinks/values/1/2/1", "1", "values: a cell is '1'")
        self.refused("metrics/entropy_with_sinks/values/1/2/1", True, "values: a cell is True")
        self.refused("metrics/entropy_with_sinks/rows/1/2/1", 1.5, "rows: a cell is 1.5")
        self.refused("metrics/entropy_with_sinks/dims", ["head", "layer", "length"], "come first")
        self.refused("metrics/entropy_with_sinks/rows/1/1/1", 0, "a value of no row")
        self.refused("metrics/entropy_with_sinks/stderr/0/1/1", -0.1, "negative")
        self.refused("flags/0/head", 17, "a head that is not there")
        self.refused("flags/0/length", 32, "not at the longest length")

    def test_intervals_and_tests(self):
        entropy = self.made["metrics"]["entropy_with_sinks"]
        of_length = {"dims": ["length"], "unit": "keys"}
        closest = {**of_length, "values": [2, None], "low": [1, None], "high": [2.5, None]}
        critical = {**of_length, "none": -1, "values": [2, -1], "p": [0, 0.2]}

        def without(*keys: str, of: dict) -> dict:
            return {key: value for key, value in of.items() if key not in keys}

        self.made["metrics"] |= {"closest_n": closest, "critical_n": critical}
        self.assertEqual(list(schema.faults_of(self.made)), [])
        for path, value, because in (
            ("closest_n/low/0", 2.6, "an interval from 2.6 to 2.5"),
            ("closest_n/low/0", None, "an interval from None to 2.5"),
            ("closest_n/high", [1], "sizes [2]"),
            ("closest_n/low/1", "1", "closest_n.low"),
            ("critical_n/p/1", 1.5, "no probability"),
            ("critical_n/p/0", -0.1, "no probability"),
            ("critical_n/low", [1, 1], "one end of an interval"),
            ("critical_n/low", [1, 1], "low is there, and no interval is declared"),
            ("entropy_with_sinks/p", entropy["values"], "p is there, and no test is declared"),
            ("closest_n", without("low", "high", of=closest), "low is absent, and the interval is declared"),
            ("critical_n", without("p", of=critical), "p is absent, and the test is declared"),
        ):
            self.refused(f"metrics/{path}", value, because)

    def test_refuses_nan(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "nan.json"
            path.write_text(MADE.read_text().replace("4.25", "NaN"))
            with self.assertRaisesRegex(schema.InvalidResults, "NaN"):
                schema.validate(path)

    def test_names_the_file_and_the_fault(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "odd.json"
            path.write_text(MADE.read_text().replace('"partial": false', '"partial": 0'))
            with self.assertRaisesRegex(schema.InvalidResults, "odd.json:\n  partial: 0 is not"):
                schema.validate(path)
