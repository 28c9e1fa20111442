"""Figures with matplotlib."""

import unittest
import warnings

import numpy as np
from test_results import ResultsTest, needs

from headgauge import errors


@needs("matplotlib")
class PlotTest(ResultsTest):
    def setUp(self):
        super().setUp()
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot

        self.addCleanup(pyplot.close, "all")
        self.pyplot = pyplot

    def test_every_figure_is_its_axes(self):
        from matplotlib.axes import Axes

        plot = self.results.plot
        for made in (
            plot.map("entropy"),
            plot.map("entropy", length=32),
            plot.curve("entropy"),
            plot.scatter("entropy", "max_weight"),
            plot.curve("entropy", [(0, 1), (2, 3)]),
        ):
            self.assertIsInstance(made, Axes)
            made.figure.canvas.draw()
        _, (left, right) = self.pyplot.subplots(1, 2)
        self.assertIs(plot.curve("entropy", ax=left), left)
        self.assertIs(plot.map("entropy", ax=right), right)

    def test_figures_show_the_numbers(self):
        entropy, plot = self.results["entropy"], self.results.plot
        image = plot.map("entropy", length=32).images[0].get_array()
        np.testing.assert_array_equal(image, entropy.values[..., 0])
        longest = plot.map("entropy")
        self.assertEqual(longest.get_title(), "entropy at length 64")
        np.testing.assert_array_equal(longest.images[0].get_array(), entropy.values[..., 1])
        (line,) = plot.curve("entropy", [(2, 3)]).lines
        np.testing.assert_array_equal(line.get_xdata(), [32, 64])
        np.testing.assert_array_equal(line.get_ydata(), entropy.values[2, 3])
        (mean,) = plot.curve("entropy").lines
        np.testing.assert_allclose(mean.get_ydata(), entropy.values.reshape(36, 2).mean(axis=0))
        points = plot.scatter("entropy", "max_weight", length=32).collections[0].get_offsets()
        np.testing.assert_array_equal(points[:, 1], self.results["max_weight"].values[..., 0].ravel())

    def test_long_lengths_are_written_out(self):
        results = self.crafted(lambda document: document["coords"].update(length=[32, 1048576]))
        self.assertEqual(results.plot.map("entropy").get_title(), "entropy at length 1048576")
        self.assertIn("at length 1048576", results._repr_html_())

    def test_a_length_without_values_is_a_gap(self):
        def emptied(document):
            for layer in document["metrics"]["entropy"]["values"]:
                for head in layer:
                    head[0] = None

        with warnings.catch_warnings():
            warnings.simplefilter("error")
            (line,) = self.crafted(emptied).plot.curve("entropy").lines
        self.assertEqual(np.isnan(line.get_ydata()).tolist(), [True, False])

    def test_what_cannot_be_drawn_is_refused(self):
        plot = self.results.plot
        with self.assertRaisesRegex(errors.UsageError, "^critical_n: expected a metric of heads"):
            plot.map("critical_n")
        with self.assertRaisesRegex(errors.UsageError, "^length: expected one of 32, 64, found 33"):
            plot.map("entropy", length=33)
        with self.assertRaisesRegex(errors.UsageError, "^head: expected one of"):
            plot.curve("entropy", [(0, 99)])
        with self.assertRaises(KeyError):
            plot.scatter("entropy", "nonesuch")


if __name__ == "__main__":
    unittest.main()
