"""No command writes over what it reads, or into a folder that it reads: by any name, through any link."""

import os
import shutil
from pathlib import Path

from tests.cli.checkpoints import copy_golden
from tests.cli.command import USAGE, CommandTest
from tests.places import ROOT

SCAN = ("scan", "model", "--lengths", "16", "--measures", "weights", "--quiet")
PLAN = ("plan", "model", "--lengths", "64", "--random-plans", "1", "--replay", "0", "--quiet")
APART = ("--out", "apart from what is read")


def contents(folder: Path) -> dict[str, bytes | None]:
    return {
        str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None for p in sorted(folder.rglob("*"))
    }


class Reads(CommandTest):
    def setUp(self) -> None:
        super().setUp()
        copy_golden("gpt2/plain", self.folder / "model")
        self.many_ids("a.txt b.txt c.txt")

    def apart(self, *arguments: str) -> None:
        """Refused, and all files have their bytes."""
        before = contents(self.folder)
        self.refuse(USAGE, *arguments, says=APART)
        self.assertEqual(contents(self.folder), before, arguments)

    def test_a_text_at_the_place_of_each_file_that_is_written(self) -> None:
        for name in ("results.json", "heads.csv", "report.html", "report.md", "figures/a.svg"):
            self.write("out/" + name, (self.folder / "a.txt").read_text())
            self.apart(*SCAN, "--tokens", "out/" + name, "--out", "out")
            self.apart(*SCAN, "--tokens", "b.txt", "out/" + name, "--shard", "1/2", "--out", "out")
            shutil.rmtree(self.folder / "out")

    def test_the_plans_of_other_shares(self) -> None:
        self.write("out/plan_25.json", (self.folder / "a.txt").read_text())
        for search, confirm in (("out/plan_25.json", "c.txt"), ("c.txt", "out/plan_25.json")):
            self.apart(*PLAN, "--tokens", search, "--confirm", confirm, "--curve", "0.25", "--out", "out")

    def test_the_model(self) -> None:
        for out in ("model", "model/", "./model/sub", "model/../model", str(self.folder / "model/a/b")):
            self.apart(*SCAN, "--tokens", "a.txt", "--out", out)
        (self.folder / "link").symlink_to("model")
        self.apart(*SCAN, "--tokens", "a.txt", "--out", "link")
        self.apart("scan", "link", *SCAN[2:], "--tokens", "a.txt", "--out", "model/sub")
        self.apart(*PLAN, "--tokens", "a.txt", "b.txt", "--confirm", "c.txt", "--out", "model")
        shutil.copytree(self.folder / "model", self.folder / "in/model")
        simulated = ("--dimension", "6", "--grid", "60,120", "--replicates", "4", "--quiet")
        self.apart("reproduce", "tokens", "in/model", "--tokens", "a.txt", *simulated, "--out", "in")

    def test_texts_of_every_option(self) -> None:
        self.write("out/results.json", (self.folder / "c.txt").read_text())
        self.write("out/plan.json", (self.folder / "c.txt").read_text())
        compare = ("compare", "model", *SCAN[2:], "--tokens", "a.txt", "--normalizer", "ssmax")
        self.apart(*compare, "--confirm", "out/results.json", "--out", "out")
        for name in ("results.json", "plan.json"):
            self.apart(*PLAN, "--tokens", "a.txt", "b.txt", "--confirm", "out/" + name, "--out", "out")
        task = f'{{"prompt": {[*range(30)]}, "answer": [1]}}\n'
        self.write("tasks/results.json", task * 4)
        self.apart(*SCAN, "--tasks", "tasks/results.json", "--out", "tasks")

    def test_links_to_a_text(self) -> None:
        (self.folder / "out").mkdir()
        (self.folder / "out/results.json").symlink_to("../a.txt")
        self.apart(*SCAN, "--tokens", "a.txt", "--out", "out")
        self.apart(*SCAN, "--tokens", "out/results.json", "--out", "out")
        (self.folder / "out/results.json").unlink()
        os.link(self.folder / "a.txt", self.folder / "out/results.json")
        self.apart(*SCAN, "--tokens", "a.txt", "--out", "out")
        (self.folder / "out/results.json").unlink()

    def test_the_file_of_a_task(self) -> None:
        shutil.copytree(ROOT / "demo/model", self.folder / "demo")
        shutil.copyfile(ROOT / "demo/text.txt", self.folder / "book.txt")
        (self.folder / "linked.jsonl").symlink_to("book.txt")
        task = ("task", "copy", "--model", "demo", "--text", "book.txt", "--length", "96", "--cases", "2")
        for out in ("book.txt", "./book.txt", "linked.jsonl", "demo/tokenizer.json", "demo/new.jsonl"):
            self.apart(*task, "--out", out)
        self.succeed(*task, "--out", "tasks.jsonl")

    def test_results_that_are_read(self) -> None:
        for name in ("one", "two"):
            self.succeed(*SCAN, "--tokens", "a.txt", "--normalizer", "softmax", "--out", name)
        for command in (("diff", "one", "two"), ("series", "one", "two")):
            for out in ("one", "two", "./two/", "two/sub"):
                self.apart(*command, "--force", "--out", out)
            self.apart(command[0], "one/results.json", "two/results.json", "--force", "--out", "two")
        self.write("limits/results.json", '{"schema": "headgauge.limits/1", "limits": []}')
        self.apart("diff", "one", "two", "--limits", "limits/results.json", "--force", "--out", "limits")
        self.apart("report", "one", "--out", "one/results.json")
        self.apart("reproduce", "limits", "--results", "one", "--force", "--out", "one")
        for k in range(4):
            shutil.copytree(self.folder / "one", self.folder / f"runs/{k}")
        self.apart("series", "runs", "one", "--out", "runs")

    def test_a_list_of_texts(self) -> None:
        self.write("list.txt", "a.txt\n")
        self.write("out/results.json", "a.txt\n")
        self.apart(*SCAN, "--tokens", "@out/results.json", "--out", "out")
        self.apart(*SCAN, "--tokens", "@out/results.json", "--out=out")
        self.apart("task", "copy", "--model", "model", "--text", "@list.txt", "--out", "list.txt")

    def test_an_export_over_its_plan_or_its_model(self) -> None:
        copy_golden("llama/llama-plain", self.folder / "llama")
        texts = ("--tokens", "a31.txt", "b31.txt", "--confirm", "c31.txt")
        self.many_ids("a31.txt b31.txt c31.txt", vocabulary=31)
        self.succeed("plan", "llama", *PLAN[2:], "--pattern", "window:size=16", *texts, "--out", "p")
        export = ("--export", "hf", "--quiet", "--out")
        self.succeed("plan", "llama", "--plan", "p/plan.json", *export, "p")
        self.apart("plan", "llama", "--plan", "p/plan.json", *export, "llama")
        self.apart("plan", "llama", "--plan", "p/hf/plan.json", *export, "p")
        self.apart("plan", "p/hf", "--plan", "p/plan.json", *export, "p")
        self.apart("plan", "llama", "--plan", "p/plan.json", *export, "p/../llama/sub")

    def test_what_the_pages_show_goes_on(self) -> None:
        self.succeed(*SCAN, "--tokens", "a.txt", "b.txt", "--out", "one")
        self.succeed(*SCAN, "--tokens", "a.txt", "b.txt", "--out", "one")
        self.succeed("report", "one", "--quiet")
        self.succeed("report", "one", "--format", "svg", "--quiet")
        self.succeed(*SCAN, "--tokens", "a.txt", "--out", "one", "--force")
        self.succeed(*SCAN, "--tokens", "a.txt", "--out", ".")
        for k in (1, 2):
            self.succeed(*SCAN, "--tokens", "a.txt", "b.txt", "--shard", f"{k}/2", "--out", "shared")
        self.succeed("merge", "shared", "--out", "shared", "--quiet")
        self.succeed("diff", "one", "shared", "--quiet", "--out", "changes")
