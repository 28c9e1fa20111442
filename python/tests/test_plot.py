"""Figures with matplotlib."""

import json
import warnings

import numpy as np
from test_results import ResultsTest, needs

import headgauge
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
            plot.map("entropy_with_sinks"),
            plot.map("entropy_with_sinks", length=32),
            plot.curve("entropy_with_sinks"),
            plot.curve("entropy_with_sinks", [(0, 1), (2, 3)]),
        ):
            self.assertIsInstance(made, Axes)
            made.figure.canvas.draw()
        _, (left, right) = self.pyplot.subplots(1, 2)
        self.assertIs(plot.curve("entropy_with_sinks", ax=left), left)
        self.assertIs(plot.map("entropy_with_sinks", ax=right), right)

    def test_figures_show_the_numbers(self):
        entropy, plot = self.results["entropy_with_sinks"], self.results.plot
        image = plot.map("entropy_with_sinks", length=32).images[0].get_array()
        np.testing.assert_array_equal(image, entropy.values[..., 0])
        longest = plot.map("entropy_with_sinks")
        self.assertEqual(longest.get_title(), "entropy with sinks at length 64")
        np.testing.assert_array_equal(longest.images[0].get_array(), entropy.values[..., 1])
        (line,) = plot.curve("entropy_with_sinks", [(2, 3)]).lines
        np.testing.assert_array_equal(line.get_xdata(), [32, 64])
        np.testing.assert_array_equal(line.get_ydata(), entropy.values[2, 3])
        (mean,) = plot.curve("entropy_with_sinks").lines
        np.testing.assert_allclose(mean.get_ydata(), entropy.values.reshape(36, 2).mean(axis=0))

    def test_a_curve_of_a_training_is_over_its_steps(self):
        draw = np.random.default_rng(1)
        values = {step: draw.random((2, 4)) for step in (100, 200, 300)}
        lines = [
            json.dumps(
                {"schema": "headgauge.monitor/2", "step": k, "metrics": {"entropy_with_sinks": v.tolist()}}
            )
            for k, v in values.items()
        ]
        path = self.folder / "monitor.jsonl"
        path.write_text("\n".join(lines) + "\n")
        plot = headgauge.Results.load(path).plot
        drawn = plot.curve("entropy_with_sinks", [(1, 3)])
        np.testing.assert_array_equal(drawn.lines[0].get_xdata(), [*values])
        np.testing.assert_array_equal(drawn.lines[0].get_ydata(), [v[1, 3] for v in values.values()])
        self.assertEqual((drawn.get_xlabel(), drawn.get_xscale()), ("step", "linear"))
        (mean,) = plot.curve("entropy_with_sinks").lines
        np.testing.assert_allclose(mean.get_ydata(), [v.mean() for v in values.values()])

    def test_every_metric_is_drawn(self):
        """At the last label of the dims that have no room, or at those that are named."""
        for results in (self.results, self.compared):
            for name, metric in results.metrics.items():
                with self.subTest(name):
                    drawn = results.plot.map(name)
                    last = metric.values[(..., *(-1,) * max(0, len(metric.dims) - 2))]
                    image = np.ma.filled(drawn.images[0].get_array().astype(float), np.nan)
                    np.testing.assert_array_equal(image.ravel(), last.ravel())
                    for dim in metric.dims[2:]:
                        label = results.coords[dim][-1]
                        label = label if isinstance(label, str) else f"{label:.15g}"
                        self.assertIn(f"{dim} {label}", drawn.get_title())
                    self.pyplot.close("all")

    def test_a_label_of_any_dim_can_be_named(self):
        plot, compared = self.results.plot, self.compared
        name = next(
            n for n, m in self.results.metrics.items() if m.dims == ("layer", "head", "length", "top_n")
        )
        metric = self.results[name]
        place = self.results.coords["top_n"].index(5)
        drawn = plot.map(name, length=32, top_n=5, cmap="gray")
        np.testing.assert_array_equal(drawn.images[0].get_array(), metric.values[..., 0, place])
        self.assertEqual(drawn.get_title(), f"{metric.title} at length 32, top_n 5")
        self.assertEqual(drawn.images[0].get_cmap().name, "gray")
        by_length = plot.map(name, head=1)
        np.testing.assert_array_equal(by_length.images[0].get_array(), metric.values[:, 1, :, -1])
        self.assertEqual((by_length.get_ylabel(), by_length.get_xlabel()), ("layer", "length"))
        by_name = compared.plot.map("entropy_with_sinks", normalizer="ssmax")
        np.testing.assert_array_equal(
            by_name.images[0].get_array(), compared["entropy_with_sinks"].values[:, :, 1, 0]
        )
        (line,) = plot.curve(name, [(2, 3)], top_n=5).lines
        np.testing.assert_array_equal(line.get_ydata(), metric.values[2, 3, :, place])

    def test_long_lengths_are_written_out(self):
        results = self.crafted(lambda document: document["coords"].update(length=[32, 1048576]))
        self.assertEqual(
            results.plot.map("entropy_with_sinks").get_title(), "entropy with sinks at length 1048576"
        )
        self.assertIn("at length 1048576", results._repr_html_())

    def test_a_length_without_values_is_a_gap(self):
        def emptied(document):
            for layer in document["metrics"]["entropy_with_sinks"]["values"]:
                for head in layer:
                    head[0] = None

        with warnings.catch_warnings():
            warnings.simplefilter("error")
            (line,) = self.crafted(emptied).plot.curve("entropy_with_sinks").lines
        self.assertEqual(np.isnan(line.get_ydata()).tolist(), [True, False])

    def test_what_cannot_be_drawn_is_refused(self):
        plot = self.results.plot
        for says, draw in (
            ("loss: expected a metric of layer, head and length or step, found", lambda: plot.curve("loss")),
            ("top_n: expected one of 1, .*found 19", lambda: plot.map("distance", top_n=19)),
            (
                "entropy_with_sinks: expected labels of layer, head, length",
                lambda: plot.map("entropy_with_sinks", top_n=20),
            ),
            ("length: expected one of 32, 64, found 33", lambda: plot.map("entropy_with_sinks", length=33)),
            ("head: expected one of", lambda: plot.curve("entropy_with_sinks", [(0, 99)])),
        ):
            with self.assertRaisesRegex(errors.UsageError, f"^{says}"):
                draw()
        with self.assertRaises(KeyError):
            plot.map("nonesuch")
