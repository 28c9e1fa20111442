"""What the docs advise for the demo model, followed: the loss does what the sentence says."""

import importlib.util
import re
import sys

from tests.cli.command import CommandTest
from tests.places import DATA, ROOT

DEMO = (str(ROOT / "demo/model"), "--text", str(ROOT / "demo/text.txt"), "--measures", "weights")

# The note on the context of heads: the heads, the pattern, the change of the loss that it states.
FOLLOWED = (
    (("--layers", "4,5"), "sinks:sinks=4,window=296", 0.0003),
    (("--layers", "4,5"), "sinks:sinks=4,window=60", -0.006),
    (("--layers", "0,1"), "sinks:sinks=4,window=296", -0.0110),
    (("--layers", "0,1"), "sinks:sinks=4,window=60", 0.110),
    (("--heads", "0.0"), "sinks:sinks=4,window=60", -0.0071),
    (("--heads", "4.1"), "sinks:sinks=4,window=42", -0.0013),
    (("--heads", "1.3,2.1"), "sinks:sinks=4,window=60", 0.014),
    (("--heads", "1.3,2.1"), "topk:k=16", -0.0004),
)


# The note on choosing a rule, its conclusion: the heads, the normalizer, what it states of the demo text, the
# licence, and three excerpts of the novel (None: not stated).
CHOSEN = (
    (("--heads", "1.5"), "ssmax", -0.0116, -0.0073, (None, None, None)),
    ((), "softmax:t=1.1", -0.0446, 0.0015, (-0.021, -0.028, -0.042)),
)
NOVEL = DATA / "text/war_and_peace.txt"


class Texts(CommandTest):
    def test_the_pieces_of_the_novel_begin_where_books_begin(self) -> None:
        """Whatever header a copy of the novel has, and whatever ends its lines."""
        spec = importlib.util.spec_from_file_location("novel_texts", ROOT / "tools/novel_texts.py")
        tool = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(tool)
        books = [f"{beginning} Ты\r\n{name} " + "x" * 9000 for name, beginning in tool.BEGINNINGS.items()]
        self.write("novel.txt", ("\ufeffProject Gutenberg\r\n" + "\r\n".join(books)).encode())
        tool.main(str(self.folder / "novel.txt"), str(self.folder / "texts"))
        for name, beginning in tool.BEGINNINGS.items():
            piece = (self.folder / f"texts/{name}.txt").read_text(encoding="utf-8")
            self.assertTrue(piece.startswith(f"{beginning} Ты\n{name} x"), name)
            self.assertEqual(len(piece), tool.LENGTH)
        names = " ".join(f"{name}.txt" for name in tool.BEGINNINGS)
        self.assertIn(f"--text {names}", (ROOT / "docs/patterns.md").read_text(encoding="utf-8"))

    def test_the_tool_that_cuts_the_novel_refuses_other_files_in_one_line(self) -> None:
        self.write("other.txt", "Call me Ishmael.")
        self.write("latin.txt", "Vas\u00edli".encode("latin-1"))
        for words, says in (
            (
                ("other.txt", "texts"),
                "other.txt: expected Project Gutenberg's no. 2600, found a text without",
            ),
            (("latin.txt", "texts"), "latin.txt: expected a text in UTF-8"),
            (("nowhere.txt", "texts"), "nowhere.txt: expected a text in UTF-8"),
            ((), "usage: "),
        ):
            done = self.other(sys.executable, ROOT / "tools/novel_texts.py", *words)
            self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1), done.stderr)
            self.assertTrue(done.stderr.startswith(says), done.stderr)
        self.assertFalse((self.folder / "texts").exists())


class Advice(CommandTest):
    def change_of(self, text: object, *options: str) -> tuple[float, float]:
        """The change of the loss of a text, and its error."""
        run = ("compare", *DEMO[:1], "--text", text, *options, "--measures", "weights", "--quiet")
        change = self.saved(*run, out="one")[0]["metrics"]["loss_change"]
        return float(change["values"][1][0][-1]), change["stderr"][1][0][-1]

    def excerpt(self, share: float) -> str:
        """12,000 characters from that share of the novel."""
        text = NOVEL.read_text()
        start = int(share * len(text))
        (self.folder / "excerpt.txt").write_text(text[start : start + 12000])
        return "excerpt.txt"

    def test_what_choosing_concludes_is_what_comes_of_it(self) -> None:
        text = (ROOT / "docs/notes/2026-11-30-choosing-a-rule.md").read_text()
        for heads, normalizer, demo, licence, novel in CHOSEN:
            for path, stated in ((ROOT / "demo/text.txt", demo), (ROOT / "LICENSE", licence)):
                change, _ = self.change_of(path, *heads, "--normalizer", normalizer)
                self.assertAlmostEqual(change, stated, delta=6e-5, msg=f"{normalizer} on {path}")
                self.assertIn(f"{stated:+.4f}", text)
            for share, stated in zip((0.955, 0.970, 0.985), novel, strict=True):
                if stated is None or not NOVEL.exists():
                    continue
                change, _ = self.change_of(self.excerpt(share), *heads, "--normalizer", normalizer)
                self.assertAlmostEqual(change, stated, delta=6e-4, msg=f"{normalizer} at {share}")
                self.assertIn(f"{stated:+.3f}", text)

    def test_the_loss_is_what_the_docs_say(self) -> None:
        text = (ROOT / "docs/notes/2026-11-30-context-of-heads.md").read_text()
        for heads, pattern, stated in FOLLOWED:
            change, _ = self.change_of(ROOT / "demo/text.txt", *heads, "--pattern", pattern)
            rounding = 0.6 * 10 ** -len(f"{stated}".split(".")[1])
            self.assertAlmostEqual(change, stated, delta=rounding, msg=pattern)
            self.assertIn(f"{stated:+}".replace("0.", ".").lstrip("+"), text)

    def test_what_is_recommended_lowers_the_loss_of_a_third_text(self) -> None:
        """Chosen on one text and confirmed on another, followed on one that took no part."""
        if not NOVEL.exists():
            self.skipTest(f"{NOVEL} is absent (HEADGAUGE_TEST_DATA names its root)")
        text = NOVEL.read_text()
        for name, share in (("confirm", 0.955), ("third", 0.975)):
            start = int(share * len(text))
            (self.folder / f"{name}.txt").write_text(text[start : start + 6000])
        each = "--each head --normalizer ssmax,logn-entropy,softmax1,entmax:alpha=1.25 --confirm confirm.txt --out each"
        done = self.succeed("compare", *DEMO, *each.split())
        said = " ".join(done.out.split())
        advised = re.findall(r"Recommended for head (\d\.\d): ([^ ]+), loss", said)
        self.assertGreater(len(advised), 2)
        total = 0.0
        for head, normalizer in advised:
            value, error = self.change_of("third.txt", "--heads", head, "--normalizer", normalizer)
            self.assertLess(value, 2 * error, f"{normalizer} raises the loss of head {head}")
            total += value
        self.assertLess(total, 0)
