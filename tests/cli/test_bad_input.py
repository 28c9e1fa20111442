"""Input that is not what it should be: one line that says what, where and what to do."""

import math
import resource
import struct

from tests.cli.checkpoints import change_config, copy_golden, make_gpt2, read_weights, write_weights
from tests.cli.command import BAD_INPUT, RESOURCE, UNSUPPORTED, CommandTest, environment, run
from tests.places import DATA

CAPP = DATA / "models/capp-gpt"


class BadInputTest(CommandTest):
    def setUp(self) -> None:
        super().setUp()
        self.model = copy_golden("gpt2/plain", self.folder / "model")
        self.tokens = self.ids(64)

    def refuse_scan(self, *says: str, code: int = BAD_INPUT, model="model", options=()) -> str:
        arguments = ("scan", model, "--tokens", "ids.txt", *options)
        return self.refuse(code, *arguments, "--out", "out", says=says)


class Readers(BadInputTest):
    """What the C++ tests of checkpoint and tokenize cannot see: that the program ends as they say."""

    def test_one_of_each_status(self) -> None:
        self.refuse_scan("./nowhere", "no such file or folder", model="./nowhere")
        (self.model / "model.safetensors").rename(self.model / "pytorch_model.bin")
        self.refuse_scan("pytorch_model.bin", "save_pretrained", code=UNSUPPORTED)
        says = ("org/name", "/x/hub/models--org--name", "`hf download org/name`")
        env = environment(HF_HUB_CACHE="/x/hub")
        self.refuse(BAD_INPUT, "scan", "org/name", "--tokens", "ids.txt", says=says, env=env)

    def test_an_unknown_family_is_named_with_those_known(self) -> None:
        change_config(self.model, model_type="megatron")
        self.refuse_scan('"megatron"', "(gpt2, ", "llama", "dump", code=UNSUPPORTED)
        # ... and before a tokenizer is looked for.
        self.write("text.txt", "some words")
        self.refuse(UNSUPPORTED, "scan", "model", "--text", "text.txt", says='"megatron"')

    def test_configs_of_gpt2(self) -> None:
        other_tensors = ("shape", "must come from the same model")
        for changes, *says in (
            *(({name: None}, f"field {name}", "no such field")
              for name in ("model_type", "n_layer", "n_head", "n_embd", "vocab_size")),
            ({"n_layer": "two"}, "field n_layer", '"two"'),
            ({"n_head": 0}, "field n_head", "found 0;"),
            ({"n_embd": 20.5}, "field n_embd", "found 20.5;"),
            ({"n_embd": 10**30}, "field n_embd", "found 1e+30;"),
            ({"n_head": 3}, "field n_embd", "found 20;"),  # 20 is no multiple of 3
            ({"layer_norm_epsilon": -1}, "field layer_norm_epsilon", "found -1;"),
            ({"n_layer": 3}, "h.2.", *other_tensors),
            ({"n_layer": 1}, "field n_layer", "more than 1", '"transformer.h.1.attn.c_attn.bias"'),
            ({"n_embd": 24}, "wte.weight", *other_tensors),
            ({"n_inner": 40}, "mlp.c_fc.weight", *other_tensors),
            ({"vocab_size": 42}, "wte.weight", *other_tensors),
            ({"n_positions": 256}, "wpe.weight", *other_tensors),
            ({"tie_word_embeddings": False}, "lm_head.weight", *other_tensors),
        ):  # fmt: skip
            with self.subTest(changes):
                copy_golden("gpt2/plain", self.model)
                change_config(self.model, **changes)
                self.refuse_scan(*says)
        copy_golden("gpt2/plain", self.model)
        change_config(self.model, n_layer=1)
        self.refuse(BAD_INPUT, "inspect", "model", says="more than 1")
        copy_golden("gpt2/plain", self.model)
        change_config(self.model, activation_function="mystery")
        self.refuse_scan("activation_function", '"mystery"', "gelu_new", code=UNSUPPORTED)


class Tensors(BadInputTest):
    def setUp(self) -> None:
        super().setUp()
        self.path = self.model / "model.safetensors"
        self.header, self.data = read_weights(self.path)

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


class Texts(BadInputTest):
    def test_too_few_ids_say_how_many_there_are_and_what_fits(self) -> None:
        self.ids(50)
        self.refuse_scan("50 tokens", "found 100", "32, 50", options=("--lengths", "32,100"))
        self.ids(1)
        self.refuse_scan("at least 2 tokens", "found 1;")
        self.ids(300)
        self.refuse_scan("at most 128", "found 256", options=("--lengths", "256"))

    def test_the_first_of_several_that_cannot_be_read_is_named(self) -> None:
        if not CAPP.exists():
            self.skipTest(f"{CAPP} is not there")
        names = [f"{k}.txt" for k in range(8)]
        for k, name in enumerate(names):
            self.write(name, b"Milling \xff" if k in (3, 5, 7) else b"Milling " * (2000 if k == 0 else 20))
        for threads in ("1", "4"):
            self.refuse(BAD_INPUT, "scan", CAPP, "--text", *names, "--threads", threads, says="3.txt byte 8")

    def test_a_model_without_tokenizer_is_told_of_tokens(self) -> None:
        self.write("text.txt", "some words")
        says = ("a tokenizer.json", "--tokens")
        self.refuse(BAD_INPUT, "scan", "model", "--text", "text.txt", says=says)


class Memory(BadInputTest):
    def test_a_model_that_cannot_fit_is_refused_with_the_figure(self) -> None:
        # Terabytes of zeros, of which the disk holds none.
        try:
            make_gpt2(self.folder / "huge", 20, 64, 65536, 1024, sparse=True)
        except OSError as error:
            self.skipTest(f"no sparse files here: {error}")
        message = self.refuse_scan(" TB of memory", " GB available", code=RESOURCE, model="huge")
        figure = float(message.split("expected ")[1].split(" TB")[0])
        self.assertGreater(figure, 4)

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
        says = ("large/model.safetensors: expected 1.63 GB of memory", "Cannot allocate memory")
        arguments = ("scan", "large", "--tokens", "ids.txt")
        self.refuse(RESOURCE, *arguments, says=says, limits=limits)
        self.refuse(RESOURCE, "inspect", "large", says=says, limits=limits)

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
                figure = r"long: expected [\d.]+ MB of memory, found [\d.]+ MB available; "
                self.assertRegex(done.err, figure, message)
            self.assertEqual(codes, {0, RESOURCE}, groups)
