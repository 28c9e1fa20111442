"""Every option stands in signatures and docstrings, from its one declaration."""

import inspect
import unittest

import headgauge


class Signatures(unittest.TestCase):
    def test_options_are_keyword_arguments(self) -> None:
        parameters = inspect.signature(headgauge.scan).parameters
        for name in ("top_n", "lengths", "normalizer", "plan", "out", "shard", "executor"):
            self.assertIn(name, parameters)
        self.assertEqual(parameters["top_n"].annotation, "int | Sequence[int] | str | None")
        self.assertEqual(parameters["x"].annotation, "Literal['embedding', 'hidden', 'value'] | None")
        self.assertNotIn("options", parameters)
        self.assertNotIn("shard", inspect.signature(headgauge.plan).parameters)
        self.assertIn("full", inspect.signature(headgauge.converge).parameters, "of synthetic tokens")

    def test_docstrings_say_what_options_mean(self) -> None:
        doc = headgauge.scan.__doc__ or ""
        self.assertIn(
            "top_n: int | Sequence[int] | str\n    Sizes of the selected sets (default 1,5,10,20,100)", doc
        )
        self.assertNotIn("--", doc.replace("--shard", ""), "names of the command line")
        for function in (headgauge.compare, headgauge.validate, headgauge.analyze, headgauge.diff):
            self.assertIn("Options (None leaves one at its default):", function.__doc__ or "")

    def test_no_option_is_named_that_the_function_refuses(self) -> None:
        for function in (headgauge.diff, headgauge.series):
            named = set(inspect.signature(function).parameters)
            self.assertLessEqual({"metrics", "level", "out"}, named)
            self.assertFalse(named & {"text", "tokens", "shard"}, function)
