"""scan() and its options: the numbers of the program, and errors as Python has them."""

import os
from pathlib import Path

import numpy as np
from commands import IDS, MODEL, QUICK, TEXT, WORDS, CommandTest, quick

import headgauge
from headgauge import errors


class ScanTest(CommandTest):
    words = ("scan", MODEL, "--lengths", "16,32", "--measures", "weights,distance")

    def test_a_text_and_the_file_that_holds_it_give_the_numbers_of_the_program(self):
        expected = self.binary(*self.words, "--text", TEXT)
        self.assert_same(quick(WORDS), expected)
        self.assert_same(quick(TEXT), expected)
        self.assert_same(headgauge.scan(MODEL, text=TEXT, **QUICK), expected)

    def test_ids_give_the_numbers_of_the_program(self):
        file = self.write("ids.txt", " ".join(map(str, IDS)))
        expected = self.binary(*self.words, "--tokens", file)
        for ids in (IDS, tuple(IDS), np.array(IDS), np.array(IDS, np.uint16), [np.int32(i) for i in IDS]):
            self.assert_same(quick(ids), expected)
        self.assert_same(quick(None, tokens=IDS), expected)
        self.assert_same(quick(None, tokens=str(file)), expected)

    def test_several_documents_give_the_numbers_of_the_program(self):
        parts = [WORDS[:2000], WORDS[2000:4000]]
        files = [self.write(f"{k}.txt", part) for k, part in enumerate(parts)]
        expected = self.binary(*self.words, "--text", *files)
        self.assert_same(quick(parts), expected)
        self.assert_same(quick(files), expected)
        self.assert_same(quick([parts[0], files[1]]), expected)

    def test_rows_of_ids_are_documents(self):
        rows = np.array([IDS, IDS[::-1]])
        self.assert_same(quick(rows), quick([IDS, IDS[::-1]]))
        self.assertEqual(quick(rows).document["text"]["tokens"], [32, 32])

    def test_a_path_is_never_taken_for_a_text_in_memory(self):
        here = os.getcwd()
        self.addCleanup(os.chdir, here)
        os.chdir(self.folder)
        self.write("text 1", WORDS[2000:4000])
        self.write("-dash.txt", WORDS[4000:6000])
        given = quick([WORDS[:2000], Path("text 1"), Path("-dash.txt")])
        self.assert_same(given, quick([WORDS[:2000], WORDS[2000:4000], WORDS[4000:6000]]))

    def test_the_name_of_a_file_is_not_measured_as_a_text(self):
        file = self.write("book.txt", WORDS)
        for call in (
            lambda: quick(str(file)),
            lambda: quick([WORDS, str(file)]),
            lambda: headgauge.scan(MODEL, text=str(file), **QUICK),
            lambda: headgauge.compare(MODEL, str(file), normalizer="ssmax", **QUICK),
            lambda: headgauge.compare(MODEL, WORDS, normalizer="ssmax", confirm=str(file), **QUICK),
            lambda: headgauge.converge(MODEL, str(file), lengths=[32]),
            lambda: headgauge.validate(MODEL, [str(file), WORDS], lengths=[32]),
            lambda: headgauge.plan(MODEL, str(file), confirm=WORDS),
            lambda: headgauge.reproduce("tokens", MODEL, str(file)),
        ):
            with self.assertRaisesRegex(errors.BadInputError, r"name of a file.*write pathlib\.Path\('"):
                call()
        quick(str(self.folder), lengths=[8])  # a folder holds no text
        self.assert_same(quick(file), quick(WORDS))

    def test_what_is_no_text_is_refused(self):
        objects = (b"bytes", {"ids": IDS}, 3, np.array(3), [], "\ud800", "", [b"bytes"], [[1], "text"])
        ids = ([1.5, 2.0], [[[1], [1, 2]]], [-1, 2], [1, 2**31], [True, False], np.ones((2, 2, 2), int))
        for text in (*objects, *ids):
            with self.subTest(text=text), self.assertRaises(errors.BadInputError) as raised:
                quick(text)
            self.assertNotIn("\n", str(raised.exception))

    def test_the_id_that_is_too_large_is_named(self):
        with self.assertRaisesRegex(errors.BadInputError, "found 2147483648$"):
            quick([1, 2**31])

    def test_a_text_is_given_once(self):
        with self.assertRaisesRegex(TypeError, "twice"):
            headgauge.scan(MODEL, WORDS, text=WORDS)

    def test_what_is_no_model_is_refused(self):
        for model in (None, 3):
            with self.assertRaisesRegex(errors.UsageError, "^model: expected"):
                headgauge.scan(model, WORDS)
        for model in ("nonesuch-at-all", "--help", self.folder):
            with self.assertRaises(errors.BadInputError):
                headgauge.scan(model, WORDS)


class OptionsTest(CommandTest):
    def test_an_unknown_option_is_a_type_error_with_advice(self):
        with self.assertRaisesRegex(
            TypeError, r"^scan\(\) has no option 'length'; did you mean 'lengths'\?$"
        ):
            quick(length=[32])
        for name in ("json", "quiet", "sort", "top", "zzz"):
            with self.assertRaisesRegex(TypeError, f"has no option '{name}'"):
                quick(**{name: True})

    def test_a_flag_takes_a_bool_alone(self):
        with self.assertRaisesRegex(TypeError, "^full: expected True or False, found 1"):
            headgauge.converge(synthetic="gaussian", full=1)
        with self.assertRaisesRegex(errors.UsageError, "^full: expected synthetic=, found a model"):
            headgauge.converge(MODEL, WORDS, full=True)

    def test_none_leaves_an_option_as_it_is(self):
        self.assert_same(quick(), quick(seed=None, heads=None, out=None))

    def test_lists_of_every_kind_are_lists(self):
        expected = quick(lengths="16,32")
        for lengths in ([16, 32], (16, 32), np.array([16, 32]), range(16, 33, 16), expected.coords["length"]):
            self.assert_same(quick(lengths=lengths), expected)
        self.assertEqual(quick(lengths=np.array(32)).coords["length"], [32])
        self.assertEqual(quick(layers=[0, 2], heads=["0.1", "2.*"]).coords["layer"], [0, 2])

    def test_true_and_false_are_words_too(self):
        for value in (True, False, np.False_):
            self.assertIs(quick(unit_sphere=value).settings["unit_sphere"], bool(value))

    def test_messages_use_the_names_of_python(self):
        with self.assertRaisesRegex(errors.UsageError, "^top_n: expected"):
            quick(top_n=[0])
        with self.assertRaises(errors.UsageError) as raised:
            headgauge.scan(MODEL)
        self.assertNotIn("--", str(raised.exception))
        # An error is also what Python users expect.
        self.assertIsInstance(raised.exception, ValueError)
        self.assertIsInstance(raised.exception, errors.Error)

    def test_out_is_written_as_the_program_does(self):
        results = quick(out=self.folder / "out")
        self.assert_same(headgauge.Results.load(self.folder / "out"), results)
