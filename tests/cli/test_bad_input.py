"""Input that is not what it should be: one line that says what, where and what to do."""

from __future__ import annotations

import json
import math
import resource
import shutil
import struct

from tests.cli.checkpoints import (
    change_config,
    copy_golden,
    make_gpt2,
    read_weights,
    write_weights,
)
from tests.cli.command import BAD_INPUT, RESOURCE, UNSUPPORTED, CommandTest, environment, run
from tests.places import DATA

CAPP = DATA / "models/capp-gpt"
LFS = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n"


class BadInputTest(CommandTest):
    def setUp(self) -> None:
        super().setUp()
        self.model = copy_golden("gpt2/plain", self.folder / "model")
        self.tokens = self.ids(64)

    def refuse_scan(self, *says: str, code: int = BAD_INPUT, model="model", options=()) -> str:
        arguments = ("scan", model, "--tokens", "ids.txt", *options)
        return self.refuse(code, *arguments, "--out", "out", says=says)


class Folders(BadInputTest):
    def test_a_folder_that_is_not_there(self) -> None:
        self.refuse_scan("./nowhere", "no such file or folder", model="./nowhere")
        self.refuse_scan("a/b/c", "no such file or folder", model="a/b/c")

    def test_an_empty_folder(self) -> None:
        (self.folder / "empty").mkdir()
        self.refuse_scan("empty", "config.json and model.safetensors", model="empty")

    def test_a_folder_without_config(self) -> None:
        (self.model / "config.json").unlink()
        self.refuse_scan("model: expected config.json", "model.safetensors")

    def test_a_folder_without_weights(self) -> None:
        (self.model / "model.safetensors").unlink()
        self.refuse_scan("model.safetensors or model.safetensors.index.json")

    def test_weights_in_another_format(self) -> None:
        (self.model / "model.safetensors").rename(self.model / "pytorch_model.bin")
        self.refuse_scan("pytorch_model.bin", "save_pretrained", code=UNSUPPORTED)

    def test_a_missing_shard(self) -> None:
        sharded = copy_golden("gpt2/sharded", self.folder / "sharded")
        (sharded / "model-00002-of-00003.safetensors").unlink()
        self.refuse_scan(
            "model.safetensors.index.json",
            '"model-00002-of-00003.safetensors"',
            "no such file",
            model="sharded",
        )

    def test_what_a_failed_download_left(self) -> None:
        for content, found in ((LFS, "a pointer of Git LFS"), ("<!doctype html>\n", "a page of HTML")):
            for name in ("model.safetensors", "config.json"):
                copy_golden("gpt2/plain", self.model)
                self.write(f"model/{name}", content)
                self.refuse_scan(f"model/{name}", found, "fetch the file itself")
            self.write("weights.gguf", content)
            self.refuse_scan("weights.gguf", found, model="weights.gguf")

    def test_a_file_of_another_kind_under_the_name_of_weights(self) -> None:
        for name in ("model.safetensors", "weights.gguf"):
            for content, found in (
                ("PK\x03\x04\x14\x01\x08\x08", "a zip archive"),
                ("some words of a text", "a text"),
            ):
                self.write(name, content)
                self.write("config.json", (self.model / "config.json").read_text())
                self.refuse_scan(name, f"found {found}", model=name)

    def test_an_adapter_is_not_the_model_that_it_stands_beside(self) -> None:
        self.write("model/adapter_config.json", "{}")
        self.write("model/adapter_model.safetensors", "")
        says = ("an adapter", "merge_and_unload()")
        self.refuse_scan("model/adapter_config.json", *says, code=UNSUPPORTED)
        name = "model/adapter_model.safetensors"
        self.refuse_scan(name, *says, code=UNSUPPORTED, model=name)
        self.refuse(UNSUPPORTED, "inspect", "model", says=says)
        self.refuse(UNSUPPORTED, "inspect", "model/model.safetensors", says=says)

    def test_names_that_a_wrapper_put_before_every_tensor(self) -> None:
        path = self.model / "model.safetensors"
        header, data = read_weights(path)
        for wrapper in ("_orig_mod.", "module.", "base_model.model."):
            metadata = header.get("__metadata__", {})
            wrapped = {wrapper + n: e for n, e in header.items() if n != "__metadata__"}
            write_weights(path, {"__metadata__": metadata, **wrapped}, data)
            self.refuse_scan(f'such as "{wrapper}', "without a wrapper", "save_pretrained()")

    def test_shards_without_an_index(self) -> None:
        sharded = copy_golden("gpt2/sharded", self.folder / "sharded")
        (sharded / "model.safetensors.index.json").unlink()
        self.refuse_scan("model-00001-of-00003.safetensors", "fetch the index", model="sharded")
        name = "sharded/model-00002-of-00003.safetensors"
        self.refuse_scan(name, "one of its shards", "name the folder", model=name)

    def test_a_shard_in_a_folder_of_its_index(self) -> None:
        sharded = copy_golden("gpt2/sharded", self.folder / "sharded")
        (sharded / "parts").mkdir()
        shard = sharded / "model-00002-of-00003.safetensors"
        for name, says in (
            (shard.name, "one of its shards; name the folder of its index, model.safetensors.index.json"),
            ("two.safetensors", "if it is a shard, name the folder of its index"),
        ):
            shutil.copy(shard, sharded / "parts" / name)
            self.refuse_scan(name, says, model=f"sharded/parts/{name}")

    def test_a_file_that_is_no_model(self) -> None:
        self.write("notes.txt", "just notes\n")
        self.refuse_scan("notes.txt", "safetensors", model="notes.txt")


class Cache(BadInputTest):
    """Names of models, looked up as huggingface_hub lays its cache out."""

    def cached(self, name: str) -> None:
        repository = self.folder / "hub" / f"models--{name.replace('/', '--')}"
        copy_golden("gpt2/plain", repository / "snapshots/0123abc")
        self.write(f"{repository.relative_to(self.folder)}/refs/main", "0123abc")

    def test_a_name_that_is_not_there_says_where_it_looked_and_how_to_fetch_it(self) -> None:
        for variables, place in (
            ({"HF_HUB_CACHE": "/x/hub"}, "/x/hub/models--org--name"),
            ({"HF_HOME": "/x/home"}, "/x/home/hub/models--org--name"),
            ({"HOME": "/x"}, "/x/.cache/huggingface/hub/models--org--name"),
        ):
            says = ("org/name", place, "`hf download org/name`")
            env = environment(**variables)
            arguments = ("scan", "org/name", "--tokens", "ids.txt")
            self.refuse(BAD_INPUT, *arguments, says=says, env=env)

    def test_a_name_that_is_there(self) -> None:
        self.cached("org/tiny")
        env = environment(HF_HUB_CACHE=str(self.folder / "hub"))
        done = self.succeed("inspect", "org/tiny", "--json", env=env)
        self.assertEqual(json.loads(done.out)["layers"], 2)

    def test_a_reference_to_a_snapshot_that_is_gone(self) -> None:
        self.cached("org/tiny")
        self.write("hub/models--org--tiny/refs/main", "4567def")
        env = environment(HF_HUB_CACHE=str(self.folder / "hub"))
        says = ("refs/main", '"4567def"', "hf download org/tiny")
        self.refuse(BAD_INPUT, "inspect", "org/tiny", says=says, env=env)


class Config(BadInputTest):
    def test_not_json(self) -> None:
        (self.model / "config.json").write_text('{"n_layer": 2,')
        self.refuse_scan("model/config.json: expected a JSON object", "the end of the file at byte 14")
        (self.model / "config.json").write_text("[1, 2]")
        self.refuse_scan("model/config.json: expected a JSON object", "a list of 2")
        (self.model / "config.json").write_bytes(b'{"model_type": "\xff"}')
        self.refuse_scan("model/config.json", "not UTF-8 at byte 16")

    def test_a_field_that_is_missing(self) -> None:
        for field in ("model_type", "n_layer", "n_head", "n_embd", "vocab_size"):
            with self.subTest(field):
                copy_golden("gpt2/plain", self.model)
                change_config(self.model, **{field: None})
                self.refuse_scan(f"field {field}", "no such field")

    def test_a_field_of_the_wrong_kind(self) -> None:
        for changes, found in (
            ({"n_layer": "two"}, '"two"'),
            ({"n_head": 0}, "found 0;"),
            ({"n_embd": 20.5}, "found 20.5;"),
            ({"n_embd": 10**30}, "found 1e+30;"),
            ({"n_head": 3}, "found 20;"),  # 20 is no multiple of 3
            ({"layer_norm_epsilon": -1}, "found -1;"),
        ):
            with self.subTest(changes):
                copy_golden("gpt2/plain", self.model)
                change_config(self.model, **changes)
                self.refuse_scan("model/config.json: field ", found)

    def test_fewer_layers_than_the_weights_have(self) -> None:
        change_config(self.model, n_layer=1)
        says = ("config.json: field n_layer", "more than 1", '"transformer.h.1.attn.c_attn.bias"')
        self.refuse_scan(*says)
        self.refuse(BAD_INPUT, "inspect", "model", says=says)

    def test_a_field_that_stands_twice(self) -> None:
        path = self.model / "config.json"
        path.write_text(path.read_text().replace("{", '{"n_layer": 1, ', 1))
        self.refuse_scan("model/config.json", 'the name "n_layer" twice')

    def test_an_unknown_activation_is_named(self) -> None:
        change_config(self.model, activation_function="mystery")
        message = self.refuse_scan("activation_function", '"mystery"', code=UNSUPPORTED)
        self.assertIn("gelu_new", message)

    def test_an_unknown_family_is_named_with_those_known(self) -> None:
        change_config(self.model, model_type="megatron")
        self.refuse_scan('"megatron"', "(gpt2, ", "llama", "dump", code=UNSUPPORTED)
        # ... and before a tokenizer is looked for.
        self.write("text.txt", "some words")
        arguments = ("scan", "model", "--text", "text.txt")
        self.refuse(UNSUPPORTED, *arguments, says='"megatron"')

    def test_a_config_that_contradicts_the_tensors(self) -> None:
        for changes, tensor in (
            ({"n_layer": 3}, "h.2."),
            ({"n_embd": 24}, "wte.weight"),
            ({"n_inner": 40}, "mlp.c_fc.weight"),
            ({"vocab_size": 42}, "wte.weight"),
            ({"n_positions": 256}, "wpe.weight"),
            ({"tie_word_embeddings": False}, "lm_head.weight"),
        ):
            with self.subTest(changes):
                copy_golden("gpt2/plain", self.model)
                change_config(self.model, **changes)
                self.refuse_scan(tensor, "shape", "must come from the same model")


class Safetensors(BadInputTest):
    def setUp(self) -> None:
        super().setUp()
        self.path = self.model / "model.safetensors"
        self.header, self.data = read_weights(self.path)
        self.name = next(n for n in self.header if n.endswith("h.1.mlp.c_fc.weight"))

    def refuse_header(self, *says: str, **entry) -> None:
        write_weights(self.path, {**self.header, self.name: {**self.header[self.name], **entry}}, self.data)
        self.refuse_scan("model/model.safetensors", *says)

    def test_cut_short(self) -> None:
        whole = self.path.read_bytes()
        data_begin = len(whole) - len(self.data)
        for size in (0, 1, 7, 8, 9, 100, data_begin - 1, data_begin, data_begin + 1,
                     len(whole) // 2, len(whole) - 1):  # fmt: skip
            with self.subTest(size):
                self.path.write_bytes(whole[:size])
                self.refuse_scan("model/model.safetensors")

    def test_too_long(self) -> None:
        self.path.write_bytes(self.path.read_bytes() + b"\0")
        self.refuse_scan("model/model.safetensors", f"{len(self.data)} bytes of tensors")

    def test_a_header_longer_than_the_file(self) -> None:
        whole = self.path.read_bytes()
        for length in (len(whole), 2**63, 2**64 - 1):
            self.path.write_bytes(struct.pack("<Q", length) + whole[8:])
            self.refuse_scan(f"a header length of {length}")

    def test_a_header_that_is_not_json(self) -> None:
        self.path.write_bytes(struct.pack("<Q", 4) + b"abcd")
        self.refuse_scan("model/model.safetensors", "begins with {")
        self.path.write_bytes(struct.pack("<Q", 4) + b"{abc")
        self.refuse_scan("model/model.safetensors: header", "syntax error at byte 1")

    def test_offsets_that_overlap(self) -> None:
        begin, end = self.header[self.name]["data_offsets"]
        self.refuse_header(self.name, "an overlap", data_offsets=[begin - 4, end - 4])

    def test_offsets_with_a_gap(self) -> None:
        begin, end = self.header[self.name]["data_offsets"]
        self.refuse_header("a gap", data_offsets=[begin + 4, end + 4])

    def test_offsets_beyond_the_file(self) -> None:
        size = len(self.data)
        entries = {n: e for n, e in self.header.items() if n != "__metadata__"}
        self.name = max(entries, key=lambda n: entries[n]["data_offsets"])
        begin, end = entries[self.name]["data_offsets"]
        for by in (4, size - begin, 2**62):
            offsets = [begin + by, end + by]
            self.refuse_header(self.name, f"data within the {size} bytes", data_offsets=offsets)

    def test_offsets_that_do_not_fit_the_shape(self) -> None:
        begin, end = self.header[self.name]["data_offsets"]
        self.refuse_header(self.name, "of shape [20, 80]", data_offsets=[begin, end - 4])

    def test_an_unknown_dtype(self) -> None:
        self.refuse_header(self.name, "a dtype among", '"F12"', dtype="F12")

    def test_a_dtype_that_no_weight_has(self) -> None:
        write_weights(
            self.path, {**self.header, self.name: {**self.header[self.name], "dtype": "I32"}}, self.data
        )
        self.refuse_scan(self.name, "F16, BF16, F32 or F64", "I32", code=UNSUPPORTED)

    def test_a_wrong_shape(self) -> None:
        self.refuse_header(self.name, "shape [20, 80]", "shape [80, 20]", shape=[80, 20])

    def test_a_missing_tensor_is_named(self) -> None:
        names = [n for n in self.header if n != "__metadata__"]
        self.assertEqual(len(names), 28)  # 12 in each of two layers
        for name in names:
            header = {n: e for n, e in self.header.items() if n != name}
            # The others move together, so that nothing but the tensor is amiss.
            begin, end = self.header[name]["data_offsets"]
            moved = {
                n: {**e, "data_offsets": [o - (end - begin) * (o > begin)
                                          for o in e["data_offsets"]]}
                for n, e in header.items() if n != "__metadata__"
            }  # fmt: skip
            write_weights(self.path, moved, self.data[:begin] + self.data[end:])
            with self.subTest(name):
                self.refuse_scan(name.removeprefix("transformer."), "no tensor of that name")

    def test_nan_and_infinity_are_found_wherever_they_are(self) -> None:
        names = [n for n in self.header if n != "__metadata__"]
        for i, name in enumerate(sorted(names)):
            value, text = [(math.nan, "NaN"), (math.inf, "+Inf"), (-math.inf, "-Inf")][i % 3]
            entry = self.header[name]
            begin, end = entry["data_offsets"]
            # In the middle; of the embeddings, whose rows are read as needed, in the first row.
            element = 3 if name.endswith(("wte.weight", "wpe.weight")) else (end - begin) // 8
            broken = bytearray(self.data)
            struct.pack_into("<f", broken, begin + 4 * element, value)
            write_weights(self.path, self.header, broken)
            columns = entry["shape"][-1]
            index = [element] if len(entry["shape"]) == 1 else [element // columns, element % columns]
            with self.subTest(name):
                self.refuse_scan(f'"{name}"', f"{text} at element {element}, index {index}")


class Tokens(BadInputTest):
    def test_an_id_out_of_range(self) -> None:
        self.write("ids.txt", "0 40 41 3")
        self.refuse_scan("ids.txt token 3 of 4", "an id from 0 to 40", "found 41")

    def test_what_is_no_id(self) -> None:
        self.write("ids.txt", "1 2\n3 x4")
        self.refuse_scan("ids.txt line 2 column 3", '"x4"')
        self.write("ids.txt", "1 -2")
        self.refuse_scan("ids.txt line 1 column 3", '"-2"')
        self.write("ids.txt", "1 99999999999")
        self.refuse_scan("ids.txt line 1 column 3", '"99999999999"')

    def test_no_ids(self) -> None:
        self.write("ids.txt", "")
        self.refuse_scan("ids.txt", "an empty file")
        self.write("ids.txt", " \n")
        self.refuse_scan("ids.txt", "only whitespace")
        self.tokens.unlink()
        self.refuse_scan("ids.txt", "No such file")

    def test_too_few_ids_say_how_many_there_are_and_what_fits(self) -> None:
        self.ids(50)
        self.refuse_scan("50 tokens", "found 100", "32, 50", options=("--lengths", "32,100"))
        self.ids(1)
        self.refuse_scan("at least 2 tokens", "found 1;")

    def test_a_length_beyond_the_positions_of_the_model(self) -> None:
        self.ids(300)
        self.refuse_scan("at most 128", "found 256", options=("--lengths", "256"))


class Texts(BadInputTest):
    def setUp(self) -> None:
        super().setUp()
        if not CAPP.exists():
            self.skipTest(f"{CAPP} is not there")

    def refuse_text(self, content: bytes, *says: str, options=()) -> None:
        self.write("text.txt", content)
        arguments = ("scan", CAPP, "--text", "text.txt", "--out", "out", *options)
        self.refuse(BAD_INPUT, *arguments, says=says)

    def test_not_utf8(self) -> None:
        self.refuse_text(b"Milling \xff Drilling", "text.txt byte 8", "UTF-8", "0xff")
        self.refuse_text("Milling".encode("utf-16"), "text.txt byte 0", "UTF-16")
        self.refuse_text(b"Milling \xc3", "text.txt byte 8")

    def test_the_first_of_several_that_cannot_be_read_is_named(self) -> None:
        names = [f"{k}.txt" for k in range(8)]
        for k, name in enumerate(names):
            self.write(name, b"Milling \xff" if k in (3, 5, 7) else b"Milling " * (2000 if k == 0 else 20))
        for threads in ("1", "4"):
            self.refuse(BAD_INPUT, "scan", CAPP, "--text", *names, "--threads", threads, says="3.txt byte 8")

    def test_empty(self) -> None:
        self.refuse_text(b"", "text.txt", "an empty file")

    def test_too_short(self) -> None:
        words = b"Milling Drilling Milling Drilling"
        self.refuse_text(words, "4 tokens", "found 8", "choose from 4", options=("--lengths", "8"))
        self.refuse_text(b"Milling", "at least 2 tokens", "found 1;")

    def test_not_there(self) -> None:
        arguments = ("scan", CAPP, "--text", "nowhere.txt")
        self.refuse(BAD_INPUT, *arguments, says=("nowhere.txt", "No such file"))

    def test_a_model_without_tokenizer(self) -> None:
        self.write("text.txt", "some words")
        says = ("a tokenizer.json", "--tokens")
        self.refuse(BAD_INPUT, "scan", "model", "--text", "text.txt", says=says)

    def test_a_damaged_tokenizer(self) -> None:
        self.write("text.txt", "some words")
        self.write("model/tokenizer.json", '{"model": ')
        self.refuse(BAD_INPUT, "scan", "model", "--text", "text.txt", says="model/tokenizer.json")
        self.write("model/tokenizer.json", LFS)
        says = ("model/tokenizer.json", "a pointer of Git LFS", "git lfs pull")
        self.refuse(BAD_INPUT, "scan", "model", "--text", "text.txt", says=says)


class Memory(BadInputTest):
    def test_a_model_that_cannot_fit_is_refused_with_the_figure(self) -> None:
        # Terabytes of zeros, of which the disk holds none.
        try:
            make_gpt2(self.folder / "huge", 20, 64, 65536, 1024, sparse=True)
        except OSError as error:
            self.skipTest(f"no sparse files here: {error}")
        message = self.refuse_scan(" GB of memory", " GB available", code=RESOURCE, model="huge")
        figure = float(message.split("expected ")[1].split(" GB")[0])
        self.assertGreater(figure, 4000)

    def test_too_many_threads_for_the_memory_are_named(self) -> None:
        limits = {resource.RLIMIT_AS: 1000 << 20}
        arguments = ("scan", "model", "--tokens", "ids.txt", "--threads", "1024")
        says = (" of memory", " available; use fewer --threads")
        self.refuse(RESOURCE, *arguments, limits=limits, says=says)

    def test_a_file_that_cannot_be_mapped_is_refused_with_its_size(self) -> None:
        try:
            make_gpt2(self.folder / "large", 2, 64, 4096, 1024, sparse=True)
        except OSError as error:
            self.skipTest(f"no sparse files here: {error}")
        limits = {resource.RLIMIT_AS: 400 << 20}
        says = ("large/model.safetensors: expected 1.6 GB of memory", "Cannot allocate memory")
        arguments = ("scan", "large", "--tokens", "ids.txt")
        self.refuse(RESOURCE, *arguments, says=says, limits=limits)
        self.refuse(RESOURCE, "inspect", "large", says=says, limits=limits)

    def test_whatever_the_limit_a_run_is_done_or_refused(self) -> None:
        codes = set()
        for megabytes in (*range(20, 60, 4), 4000):
            limits = {resource.RLIMIT_AS: megabytes << 20}
            if run("--version", limits=limits).code != 0:
                continue  # not even the program itself fits
            arguments = ("scan", "model", "--tokens", "ids.txt", "--quiet")
            done = run(*arguments, cwd=self.folder, limits=limits)
            message = f"{megabytes} MB: exit {done.code}, {done.err!r}"
            self.assertIn(done.code, (0, RESOURCE), message)
            self.assertEqual(done.err.count("\n"), 0 if done.code == 0 else 1, message)
            codes.add(done.code)
        self.assertEqual(codes, {0, RESOURCE})

    def test_the_estimate_is_enough_for_the_work(self) -> None:
        """What fits by the estimate fits: no scan that began runs out of memory."""
        make_gpt2(self.folder / "long", 2, 2, 16, 4096)
        self.ids(4096, name="many.txt")
        scan = ("scan", "long", "--tokens", "many.txt", "--lengths", "4096", "--queries", "2")
        for groups, least in (("distance", 90), ("distance,separability,coverage", 240)):
            codes = set()
            for megabytes in range(least, least + 120, 10):
                limits = {resource.RLIMIT_AS: megabytes << 20}
                arguments = (*scan, "--measures", groups, "--x", "value", "--quiet")
                done = run(*arguments, "--threads", "2", cwd=self.folder, limits=limits)
                message = f"{groups}, {megabytes} MB: exit {done.code}, {done.err!r}"
                codes.add(done.code)
                if done.code == 0:
                    break
                self.assertEqual(done.code, RESOURCE, message)
                figure = r"long: expected \d+ MB of memory, found \d+ MB available; "
                self.assertRegex(done.err, figure, message)
            self.assertEqual(codes, {0, RESOURCE}, groups)
