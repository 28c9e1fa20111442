"""Texts that workers of an executor measure: the results of one process, bit for bit."""

import concurrent.futures
import importlib.util
import json
import multiprocessing
import tempfile
import unittest
from pathlib import Path
from typing import Any

import headgauge
from headgauge.errors import BadInputError, UsageError

ROOT = Path(__file__).resolve().parents[2]
MODEL = ROOT / "demo/model"
TEXT = (ROOT / "demo/text.txt").read_text("utf-8")
PIECES = ((0, 700), (900, 2100), (1500, 1200), (400, 3000), (2600, 900), (3100, 2600), (2000, 1600))
DOCUMENTS = [TEXT[begin : begin + letters] for begin, letters in PIECES]
QUICK: dict[str, Any] = {"measures": ["weights", "model"], "lengths": [64]}


def of_no_bit(results: headgauge.Results) -> dict[str, Any]:
    """As results.json has it, without times and threads."""
    with tempfile.TemporaryDirectory() as folder:
        results.save(folder)
        saved = json.loads((Path(folder) / "results.json").read_text("utf-8"))
    saved.pop("timings")
    saved.pop("request", None)  # only of results that the run saved itself
    saved["settings"].pop("threads")
    saved["tool"].pop("threads")
    return saved


class Executors(unittest.TestCase):
    def same(self, executor: Any, command: str = "scan", texts: Any = DOCUMENTS, **options: Any) -> None:
        run = getattr(headgauge, command)
        one = of_no_bit(run(MODEL, texts, **options))
        self.assertEqual(of_no_bit(run(MODEL, texts, executor=executor, **options)), one)

    def test_a_pool_of_processes(self) -> None:
        spawn = multiprocessing.get_context("spawn")
        with concurrent.futures.ProcessPoolExecutor(2, mp_context=spawn) as pool:
            self.same(pool, examples=2)
            self.same(pool, "compare", normalizer=["ssmax", "sparsemax"], **QUICK)
            self.same(pool, "converge", lengths=[64], replicates=4, draws=4, grid=[8, 32])
            few = {"pattern": "topk:k=16", "permutations": 99, "resamples": 99}
            self.same(pool, "validate", DOCUMENTS[:2] + DOCUMENTS[5:6], lengths=[64], **few)
            with self.subTest("token ids, and a folder"), tempfile.TemporaryDirectory() as folder:
                ids = [[(7 * k + i * i) % 300 for i in range(80 + 9 * k)] for k in range(4)]
                one = of_no_bit(headgauge.scan(MODEL, ids, **QUICK))
                found = headgauge.scan(MODEL, ids, executor=pool, out=folder, **QUICK)
                self.assertEqual(of_no_bit(found), one)
                self.assertEqual(
                    sorted(p.name for p in Path(folder).iterdir()), ["heads.csv", "results.json"]
                )
            with self.subTest("what a worker raises"), self.assertRaisesRegex(BadInputError, "lengths"):
                headgauge.scan(MODEL, DOCUMENTS, executor=pool, lengths=[100000])

    def test_threads(self) -> None:
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            seen: list[tuple[str, float, float]] = []
            self.same(pool, **QUICK)
            headgauge.scan(MODEL, DOCUMENTS, executor=pool, progress=lambda *step: seen.append(step), **QUICK)
            self.assertEqual(seen[-1], ("shards", 2.0, 2.0))

    def test_what_cannot_be_saved_is_returned(self) -> None:
        with concurrent.futures.ThreadPoolExecutor(2) as pool, tempfile.TemporaryDirectory() as folder:
            headgauge.scan(MODEL, DOCUMENTS[0], out=folder, **QUICK)
            with self.assertWarnsRegex(
                UserWarning, r"results of another request.*save\(folder\) writes them"
            ):
                found = headgauge.scan(MODEL, DOCUMENTS, executor=pool, out=folder, **QUICK)
            self.assertEqual(of_no_bit(found), of_no_bit(headgauge.scan(MODEL, DOCUMENTS, **QUICK)))

    def test_what_cannot_be_shared(self) -> None:
        with self.assertRaisesRegex(UsageError, "executor: expected one with submit"):
            headgauge.scan(MODEL, DOCUMENTS, executor=object())

    def test_shards_are_merged(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            files = []
            for k, text in enumerate(DOCUMENTS[:3]):
                files.append(Path(folder, f"{k}.txt"))
                files[-1].write_text(text, "utf-8")
            # Their lengths are not those that auto chooses for one of them.
            for count, options in ((2, QUICK), (3, {"measures": ["weights"]})):
                parts = [Path(folder, f"{count}-{k}") for k in range(1, count + 1)]
                for k, part in enumerate(parts, 1):
                    empty = headgauge.scan(MODEL, files, shard=f"{k}/{count}", out=part, **options)
                    self.assertFalse(empty.metrics, "merge() has the results")
                one = headgauge.scan(MODEL, files, **options)
                self.assertEqual(of_no_bit(headgauge.merge(parts)), of_no_bit(one))

    @unittest.skipUnless(importlib.util.find_spec("distributed"), "no Dask")
    def test_a_dask_cluster(self) -> None:
        from dask.distributed import Client, LocalCluster

        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
            ) as cluster,
            Client(cluster) as client,
        ):
            self.same(client, examples=2)
            self.same(client, "compare", normalizer=["ssmax"], **QUICK)
            self.same(client.get_executor(), **QUICK)

    @unittest.skipUnless(importlib.util.find_spec("ray"), "no Ray")
    def test_a_ray_cluster(self) -> None:
        import ray

        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
        try:
            self.same(ray, examples=2)
            self.same(ray, "compare", normalizer=["ssmax"], **QUICK)
        finally:
            ray.shutdown()
