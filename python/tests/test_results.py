"""Results as labelled arrays, tables, figures and pages."""

import csv
import gc
import importlib.util
import itertools
import json
import pickle
import re
import tempfile
import unittest
import warnings
from pathlib import Path

import numpy as np

import headgauge
from headgauge import errors

MODEL = Path(__file__).resolve().parents[2] / "demo" / "model"
WORDS = (MODEL.parent / "text.txt").read_text("utf-8")


def needs(*packages):
    """Skips a test, with the reason, where packages are not installed."""
    absent = [name for name in packages if importlib.util.find_spec(name) is None]
    return unittest.skipIf(absent, f"{', '.join(absent)}: not installed")


def scan(**options):
    """Two lengths of a few measures on the demo model."""
    return headgauge.scan(
        MODEL, WORDS, lengths=[32, 64], measures=["weights", "distance", "model"], **options
    )


class ResultsTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.results = scan()
        cls.compared = headgauge.compare(
            MODEL, WORDS, normalizer=["ssmax", "uniform"], lengths=[32], measures="weights"
        )

    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def crafted(self, change):
        """Results read from a file that was changed by hand."""
        self.results.save(self.folder)
        path = self.folder / "results.json"
        document = json.loads(path.read_text("utf-8"))
        change(document)
        path.write_text(json.dumps(document), "utf-8")
        return headgauge.Results.load(path)

    def assert_copy(self, copy):
        """Another object has the same numbers."""
        self.assertEqual(copy.document, self.results.document)
        self.assertEqual(list(copy), list(self.results))
        for name, metric in self.results.metrics.items():
            np.testing.assert_array_equal(copy[name].values, metric.values, name)
            np.testing.assert_array_equal(copy[name].stderr, metric.stderr, name)
        self.assertEqual(copy.summary(), self.results.summary())


class PickleTest(ResultsTest):
    def test_another_process_has_the_same_numbers(self):
        self.assert_copy(pickle.loads(pickle.dumps(self.results)))

    def test_a_plan_goes_along(self):
        planned = headgauge.results.Results(self.results._core)
        planned.plan = {"heads": []}
        self.assertEqual(pickle.loads(pickle.dumps(planned)).plan, {"heads": []})


class MetricsTest(ResultsTest):
    def test_metrics_are_a_mapping(self):
        metrics = self.results.metrics
        self.assertEqual(len(metrics), len(list(metrics)))
        self.assertIn("entropy_with_sinks", metrics)
        self.assertIn("entropy_with_sinks", self.results)
        self.assertEqual(list(self.results), list(metrics))
        self.assertIsNone(metrics.get("nonesuch"))
        for name in ("entropi", "zzzzzz", 3):
            with self.assertRaises(KeyError):
                metrics[name]
        with self.assertRaisesRegex(KeyError, "did you mean entropy"):
            self.results["entropi"]

    def test_an_old_name_is_answered_with_the_new_one(self):
        with self.assertRaisesRegex(KeyError, "it is now loss_change"):
            self.results["answer_loss_change"]
        with self.assertRaisesRegex(KeyError, 'it is now "low" of closest_n'):
            self.results["closest_n_low"]

    def test_a_label_is_selected_with_all_parts(self):
        change = self.compared["loss_change"]
        self.assertEqual(change.dims, ("normalizer", "outcome", "length"))
        uniform = change.sel(normalizer="uniform", outcome="text", length=32)
        self.assertEqual((uniform.dims, uniform.coords), ((), {}))
        self.assertEqual(float(uniform), change.values[2, 0, 0])
        for part in ("stderr", "low", "high", "p", "rows"):
            np.testing.assert_array_equal(getattr(uniform, part), getattr(change, part)[2, 0, 0], part)
        of_text = change.sel(outcome="text")
        self.assertEqual(of_text.dims, ("normalizer", "length"))
        np.testing.assert_array_equal(of_text.values, change.values[:, 0])
        self.assertIsNone(self.results["entropy_with_sinks"].sel(length=64).low)
        with self.assertRaisesRegex(errors.UsageError, "outcome: expected one of text, found keys"):
            change.sel(outcome="keys")
        with self.assertRaisesRegex(errors.UsageError, "found one of top_n"):
            change.sel(top_n=1)

    def test_a_metric_says_what_it_is(self):
        metric = self.results["entropy_with_sinks"]
        self.assertEqual(
            (metric.name, metric.dims, metric.unit),
            ("entropy_with_sinks", ("layer", "head", "length"), "nats"),
        )
        self.assertEqual(metric.values.shape, tuple(len(self.results.coords[dim]) for dim in metric.dims))
        self.assertEqual(metric.title, "entropy with sinks")
        self.assertIn("spread", metric.meaning)
        self.assertEqual(metric.rows.dtype, np.int64)
        self.assertEqual(metric.rows[0, 0].tolist(), [32, 64])
        self.assertIsNone(metric.none)
        self.assertEqual(self.results["critical_n"].none, -1)
        # Metrics are told apart as objects; arrays could not be compared.
        self.assertEqual(len({metric, self.results["entropy_with_sinks"]}), 2)

    def test_a_metric_is_an_array(self):
        metric = self.results["entropy_with_sinks"]
        self.assertTrue(np.shares_memory(np.asarray(metric), metric.values))
        np.testing.assert_array_equal(np.asarray(metric), metric.values)
        self.assertEqual(np.asarray(metric, dtype=np.float32).dtype, np.float32)
        copied = np.array(metric)
        self.assertFalse(np.shares_memory(copied, metric.values))
        copied[:] = 0  # the copy may be written
        self.assertEqual(np.mean(metric), metric.values.mean())
        if np.lib.NumpyVersion(np.__version__) >= "2.0.0":
            self.assertTrue(np.shares_memory(np.array(metric, copy=False), metric.values))
            with self.assertRaises(ValueError):
                np.array(metric, dtype=np.float32, copy=False)

    def test_views_are_read_only_and_keep_the_results_alive(self):
        results = scan()
        metric = results["entropy_with_sinks"]
        expected = metric.values.copy()
        values, rows = metric.values, metric.rows
        with self.assertRaises(ValueError):
            values[0, 0, 0] = 1
        del results, metric
        gc.collect()
        scan(seed=3)  # which would take the memory that had been given back
        np.testing.assert_array_equal(values, expected)
        self.assertEqual(rows[0, 0].tolist(), [32, 64])

    def test_the_document_has_the_same_numbers(self):
        metric = self.results.document["metrics"]["entropy_with_sinks"]
        np.testing.assert_array_equal(
            np.array(metric["values"], float), self.results["entropy_with_sinks"].values
        )
        self.assertEqual(self.results.settings["lengths"], [32, 64])
        self.assertEqual(self.results.command, "scan")
        self.assertTrue(self.results.summary())
        self.assertIn("scan", repr(self.results))


class FilesTest(ResultsTest):
    def test_what_is_saved_is_read_again(self):
        folder = self.folder / "new" / "folder"
        self.results.save(folder)
        for path in (folder, str(folder), folder / "results.json"):
            self.assert_copy(headgauge.Results.load(path))

    def test_a_folder_that_cannot_be_made(self):
        with self.assertRaisesRegex(errors.ResourceError, "expected a writable folder"):
            self.results.save("/dev/null/folder")

    def test_what_is_no_result_is_refused(self):
        with self.assertRaises(errors.BadInputError):
            headgauge.Results.load(self.folder)
        (self.folder / "results.json").write_text("[1, 2")
        with self.assertRaises(errors.BadInputError):
            headgauge.Results.load(self.folder)

    def test_nothing_is_written_over_what_is_read(self):
        folder = self.folder
        for name in ("one", "two"):
            self.results.save(folder / name)
        (folder / "link").symlink_to(folder / "two")
        book = folder / "book.txt"
        book.write_text("Once upon a time. " * 200)
        before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        loaded = headgauge.Results.load(folder / "two")
        for call in (
            lambda: loaded.report(folder / "two/results.json"),
            lambda: headgauge.diff(folder / "one", folder / "two", out=folder / "link", force=True),
            lambda: headgauge.diff(folder / "one", loaded, out=folder / "two", force=True),
            lambda: headgauge.series([folder / "one", folder / "two"], steps=[1, 2], out=folder / "one"),
            lambda: headgauge.task("copy", MODEL, book, text=book, length=96, cases=2),
            lambda: headgauge.scan(MODEL, book, out=MODEL / "sub", lengths=[16]),
        ):
            with self.assertRaisesRegex(errors.UsageError, "apart from what is read"):
                call()
        self.assertEqual({p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}, before)
        self.assertFalse((MODEL / "sub").exists())
        loaded.save(folder / "two")
        loaded.report(folder / "two/report.html")

    def test_the_report_is_a_page(self):
        self.results.report(self.folder / "page.html")
        text = (self.folder / "page.html").read_text("utf-8")
        self.assertTrue(text.lower().startswith("<!doctype html>"))
        self.assertIn('<script id="headgauge-data"', text)

    def test_figures_are_svg(self):
        figures = self.results.figures()
        self.assertIn("map-entropy-normalized", figures)
        for name, svg in figures.items():
            self.assertIn("<svg", svg[:200], name)
            self.assertTrue(svg.rstrip().endswith("</svg>"), name)


class TablesTest(ResultsTest):
    def assert_as_csv(self, results):
        """The table has the rows, columns and numbers of heads.csv."""
        results.save(self.folder)
        with open(self.folder / "heads.csv", newline="", encoding="utf-8") as file:
            header, *rows = list(csv.reader(file))
        table = results.to_dataframe(long=False)
        dims = len(table.index.names)
        self.assertEqual(header[:dims], list(table.index.names))
        self.assertEqual([row[:dims] for row in rows], [[str(label) for label in row] for row in table.index])
        self.assertEqual(header[dims:], list(table))
        self.assertGreater(len(header), dims)
        for k, name in enumerate(header[dims:], dims):
            column = [float(row[k] or "nan") for row in rows]
            np.testing.assert_array_equal(column, table[name].to_numpy(), err_msg=name)

    @needs("pandas")
    def test_the_table_is_heads_csv(self):
        self.assert_as_csv(self.results)
        self.assert_as_csv(self.compared)
        other = headgauge.scan(MODEL, WORDS[2000:], lengths=[32, 64], measures="weights")
        self.assert_as_csv(headgauge.diff(scan(), other))

    @needs("pandas")
    def test_a_metric_without_length_stands_at_the_longest(self):
        table = self.results.to_dataframe(long=False)
        alone = {name for name, metric in self.results.metrics.items() if metric.dims == ("layer", "head")}
        for name in alone & set(table):
            self.assertTrue(table[name].xs(32, level="length").isna().all())
            found = table[name].xs(64, level="length").to_numpy()
            np.testing.assert_array_equal(found, self.results[name].values.ravel())
        stderr = table["entropy_with_sinks_stderr"].to_numpy()
        np.testing.assert_array_equal(stderr, self.results["entropy_with_sinks"].stderr.ravel())

    @needs("pandas")
    def test_what_the_table_lacks_is_said(self):
        with self.assertWarnsRegex(UserWarning, r"^\d+ of \d+ metrics have other dims.*long=True"):
            table = self.results.to_dataframe()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            self.assertEqual(list(self.results.to_dataframe(long=False)), list(table))

    @needs("pandas")
    def test_the_long_table_has_every_value(self):
        for results in (self.results, self.compared):
            table = results.to_dataframe(long=True)
            self.assertEqual(len(table), sum(metric.values.size for metric in results.metrics.values()))
            for name, metric in results.metrics.items():
                of_metric = table[table["metric"] == name]
                np.testing.assert_array_equal(of_metric["value"].to_numpy(), metric.values.ravel())
                for field in ("stderr", "low", "high", "p", "rows"):
                    known = getattr(metric, field)
                    known = np.full(metric.values.shape, np.nan) if known is None else known
                    found = of_metric[field].to_numpy(dtype=known.dtype)
                    np.testing.assert_array_equal(found, known.ravel())
                for dim in [dim for dim in results.coords if dim in table]:
                    self.assertEqual(bool(of_metric[dim].notna().all()), dim in metric.dims, (name, dim))
                if metric.dims:
                    places = of_metric.set_index(list(metric.dims))["value"]
                    labels = tuple(results.coords[dim][-1] for dim in metric.dims)
                    found = places[labels if len(labels) > 1 else labels[0]]
                    np.testing.assert_array_equal(found, metric.values[(-1,) * len(metric.dims)])

    @needs("pandas")
    def test_the_lines_of_the_documentation_correlate_metrics_over_heads(self):
        page = (MODEL.parents[1] / "docs/python.md").read_text("utf-8")
        table, correlate = re.search(r"\n    (table = .*)\n    (.*\.corr\(.*)\n", page).groups()
        few = {"measures": ["weights", "dispersion"], "replicates": 3, "draws": 2}
        scope = {"results": headgauge.converge(MODEL, WORDS, lengths=[64, 128, 256], **few)}
        exec(table, scope)  # noqa: S102 - what the page says
        found = eval(correlate, scope)
        ranks = {}
        for name in found:
            values = scope["results"][name].values
            longest = values[..., -1] if values.ndim == 3 else values
            ranks[name] = longest.ravel().argsort().argsort()  # no two heads are equal
        for a, b in itertools.combinations(found, 2):
            self.assertAlmostEqual(found.loc[a, b], np.corrcoef(ranks[a], ranks[b])[0, 1], places=12)

    @needs("pandas")
    def test_results_without_heads_have_no_table(self):
        def without_heads(document):
            del document["coords"]["head"]
            document.update(metrics={}, flags=[])

        with self.assertRaisesRegex(errors.UnsupportedError, "no heads"):
            self.crafted(without_heads).to_dataframe()

    @needs("xarray")
    def test_a_dataset_has_coords_units_and_errors(self):
        dataset = self.results.to_xarray()
        self.assertEqual(dataset["entropy_with_sinks"].dims, ("layer", "head", "length"))
        self.assertEqual(dataset["entropy_with_sinks"].attrs["units"], "nats")
        self.assertEqual(dataset["length"].values.tolist(), [32, 64])
        self.assertEqual(dataset["length"].dtype.kind, "i")
        metric = self.results["entropy_with_sinks"]
        np.testing.assert_array_equal(dataset["entropy_with_sinks"].sel(length=64), metric.values[..., 1])
        np.testing.assert_array_equal(dataset["entropy_with_sinks_stderr"], metric.stderr)
        np.testing.assert_array_equal(dataset["entropy_rows"], metric.rows)
        # What is known of heads and layers stands along them.
        self.assertEqual(dataset["kv_head"].dims, ("head",))
        self.assertEqual(dataset["layer_type"].dims, ("layer",))
        self.assertEqual(dataset["window"].dims, ("layer",))
        self.assertEqual(json.loads(dataset.attrs["settings"])["lengths"], [32, 64])
        self.assertEqual(self.compared.to_xarray()["entropy_with_sinks"].sizes["normalizer"], 3)

    @needs("xarray")
    def test_netcdf_reads_back(self):
        engines = [name for name in ("netCDF4", "h5netcdf", "scipy") if importlib.util.find_spec(name)]
        if not engines:
            self.skipTest("no engine of xarray for NetCDF is installed")
        import xarray

        self.results.to_xarray().to_netcdf(self.folder / "results.nc")
        with xarray.open_dataset(self.folder / "results.nc") as dataset:
            np.testing.assert_array_equal(
                dataset["entropy_with_sinks"], self.results["entropy_with_sinks"].values
            )

    @needs("zarr")
    def test_zarr_reads_back(self):
        import xarray

        self.results.to_xarray().to_zarr(self.folder / "results.zarr")
        with xarray.open_zarr(self.folder / "results.zarr") as dataset:
            np.testing.assert_array_equal(
                dataset["entropy_with_sinks"], self.results["entropy_with_sinks"].values
            )


class PageTest(ResultsTest):
    def test_a_notebook_shows_a_table_without_script(self):
        for results in (self.results, self.compared):
            page = results._repr_html_()
            self.assertNotIn("<script", page.lower())
            self.assertEqual(page.count("<table"), page.count("</table>"))
        self.assertIn("<caption>entropy (nats) at length 64", self.results._repr_html_())

    def test_a_notebook_escapes_what_files_hold(self):
        def hostile(document):
            document["notices"].append("<script>alert(1)</script>")
            document["metrics"]["entropy_with_sinks"]["unit"] = "<script>"

        page = self.crafted(hostile)._repr_html_()
        self.assertNotIn("<script", page)
        self.assertIn("&lt;script&gt;alert(1)", page)
