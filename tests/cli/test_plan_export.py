"""headgauge plan --export: an existing plan, and what a search makes, for other tools."""

import json
import random

from tests.cli.checkpoints import copy_golden, read_weights
from tests.cli.command import BAD_INPUT, UNSUPPORTED, USAGE, CommandTest
from tests.cli.test_gguf import gguf, metadata

EXISTING = ("plan", "model", "--plan", "plan.json", "--export")


class ExportTest(CommandTest):
    def setUp(self) -> None:
        super().setUp()
        copy_golden("llama/llama-plain", self.folder / "model")
        self.plan()

    def plan(self, *, name: str = "plan.json", changes: list | None = None, **model) -> None:
        if changes is None:
            changes = [
                {"layer": 0, "kv_head": 1, "pattern": "sinks:sinks=4,window=12"},
                {"layer": 1, "kv_head": 0, "pattern": "window:size=24"},
            ]
        described = {"name": "m", "family": "llama", "layers": 2, "heads": 6, "kv_heads": 2}
        plan = {"schema": "headgauge.plan/1", "model": described | model, "context": 64, "heads": changes}
        self.write(name, json.dumps(plan))

    def of(self, model: str) -> dict[str, int | str]:
        """What a plan says of its model."""
        config = self.read(f"{model}/config.json")
        parts = {"layers": "hidden_layers", "heads": "attention_heads", "kv_heads": "key_value_heads"}
        return {"family": config["model_type"], **{k: config[f"num_{part}"] for k, part in parts.items()}}

    def write_texts(self, seed: int, tokens: int) -> None:
        draw = random.Random(seed)
        for name in ("a.txt", "b.txt"):
            self.write(name, " ".join(str(draw.randrange(31)) for _ in range(tokens)))


class PlanExport(ExportTest):
    def test_an_existing_plan_in_every_format(self) -> None:
        self.plan(changes=[{"layer": 1, "kv_head": head, "pattern": "window:size=24"} for head in (0, 1)])
        done = self.succeed(*EXISTING, "hf,hf-layers", "--out", "out")
        of_all = ["README.md", "config.json", "headgauge_export.json", "model.safetensors", "plan.json"]
        written = [f"out/hf/{name}" for name in [*of_all, "modeling_headgauge.py"]]
        written += [f"out/hf-layers/{name}" for name in of_all]
        self.assertRegex(done.out, r"\AWritten: .*\n\Z")
        self.assertEqual(sorted(done.out[len("Written: ") : -1].split(", ")), sorted(written))
        for name in written:
            self.assertTrue((self.folder / name).is_file(), name)
        self.assertEqual(done.err, "")
        self.assertFalse((self.folder / "out/results.json").exists())
        # A plan that was exported is a plan.
        self.succeed(
            "scan", "model", "--tokens", self.ids(64, 31).name, "--plan", "out/hf/plan.json", "--quiet"
        )

    def test_into_the_folder_that_holds_the_plan(self) -> None:
        self.write_texts(3, 600)
        search = ("plan", "model", "--tokens", "a.txt", "--confirm", "b.txt", "--lengths", "64", "--random-plans",
                  "1", "--memory", "0.6", "--curve", "0.6", "--pattern", "window:size=16", "--out", "plan")  # fmt: skip
        self.succeed(*search, "--quiet")
        before = {path: path.read_bytes() for path in (self.folder / "plan").iterdir() if path.is_file()}
        for _ in range(2):
            self.succeed("plan", "model", "--plan", "plan/plan.json", "--export", "hf", "--out", "plan")
        self.assertTrue((self.folder / "plan/hf/config.json").is_file())
        self.assertEqual(before, {path: path.read_bytes() for path in before})

    def test_what_is_refused(self) -> None:
        self.plan(name="other.json", layers=3)
        alone = "formats alone; --out is the folder"
        self.refuse_each(
            (USAGE, "plan.json --export hf,vllm --out out", "--export", "one of hf, hf-layers,", '"vllm"'),
            (USAGE, "plan.json --export hf=served --out out", '"hf=served"', alone),
            (USAGE, "plan.json --export ./served --out out", '"./served"', alone),
            (USAGE, "plan.json --export hf", "no --out"),
            (USAGE, "plan.json --out out", "--export too"),
            (USAGE, "plan.json --export hf --out out --json", "--json"),
            (USAGE, "plan.json --export hf --out out --text plan.json", "--tokens or --confirm"),
            (BAD_INPUT, "other.json --export hf --out out", "other.json", "layers"),
            (BAD_INPUT, "model/config.json --export hf --out out", "a plan"),
            base=EXISTING[:3],
        )

    def test_a_folder_for_transformers(self) -> None:
        plan = self.read("plan.json")
        plan["heads"].append({"layer": 1, "kv_head": 1, "normalizer": "uniform"})
        plan["model"]["name"] = "<b>_m_"
        answers = {
            "keys": {"kept": 0.75, "kept_low": 0.5, "kept_high": 0.9, "change": 0.1},
            "odd": 3,
            "t |\n\n# a [heading](x) <img src=x>\x1b[2J": {"kept": 0.75},
        }
        change = {"loss_change": 0.0125, "low": 0.01, "high": 0.015, "replay_change": "none"}
        plan["measured"] = {"cache_share": 0.5, **change, "answers": answers}
        self.write("plan.json", json.dumps(plan))
        of_model = ("model.safetensors", "tokenizer.json", "LICENSE.txt", "chat_template.jinja",
                    "licence", "Copying.LESSER", "NOTICE.md", "additional_chat_templates")  # fmt: skip
        (self.folder / "model/additional_chat_templates").mkdir()
        (self.folder / "model/licenses").mkdir()
        (self.folder / "model/LICENSE-keys").mkdir()
        others = (".netrc", "id_rsa", "optimizer.pt", "a", "licenses_keys.env", "notice_of_leave.txt")
        for name in (*of_model[1:-1], *others):
            (self.folder / "model" / name).write_text("{}")
        done = self.succeed(*EXISTING, "hf", "--out", "out")
        left_out = (
            "not linked, as no part of the model: .netrc, LICENSE-keys, a, id_rsa, licenses, "
            "licenses_keys.env, notice_of_leave.txt, optimizer.pt\n"
        )
        self.assertEqual(done.err.count("\n"), 1)
        self.assertTrue(done.err.endswith(left_out), done.err)
        hf = self.folder / "out/hf"
        config = json.loads((hf / "config.json").read_text())
        self.assertEqual(config["headgauge_plan"], [[None, [4, 12]], [[0, 24], "mean"]])
        before = self.read("model/config.json")
        changed = {"model_type", "architectures", "auto_map", "headgauge_plan"}
        self.assertEqual({key: config[key] for key in before if key not in changed},
                         {key: before[key] for key in before if key not in changed})  # fmt: skip
        self.assertIn('\nBASE = "llama"  #', (hf / "modeling_headgauge.py").read_text())
        self.assertEqual({file.name for file in hf.iterdir() if file.is_symlink()}, {*of_model})
        for name in of_model:
            self.assertTrue((hf / name).samefile(self.folder / "model" / name), name)
        card = (hf / "README.md").read_text()
        for row in ("cache kept | 50.0 %", "loss of text, nats | +0.013 (+0.010 to +0.015)",
                    "right answers of keys that stay right | 75 % (50 % to 90 %)"):  # fmt: skip
            self.assertIn(f"\n| {row} |\n", card)
        self.assertNotIn("comes again", card)
        hostile = r"right answers of t \|\\x0a\\x0a\# a \[heading\]\(x\) \<img src\=x\>\\x1b\[2J that stay right | 75 %"
        self.assertIn(f"\n| {hostile} |\n", card)
        self.assertIn("\n# \\<b\\>\\_m\\_ under a plan", card)
        self.assertIn("\n| loss of the answers of keys, nats | +0.100 |\n", card)  # without an interval
        self.succeed(*EXISTING, "hf", "--out", "out")  # once more, over the links
        scan = ("scan", "out/hf", "--tokens", self.ids(64, 31).name)
        self.refuse(UNSUPPORTED, *scan, says=("headgauge_llama", "give the model that was exported"))

    def test_a_folder_for_transformers_out_of_a_gguf_file(self) -> None:
        file = self.folder / "tiny.gguf"
        file.write_bytes(gguf(metadata()))
        sizes = {"layers": 1, "heads": 2, "kv_heads": 2}
        self.write("gguf.json", json.dumps({"schema": "headgauge.plan/1", "model": sizes, "heads": []}))
        call = ("plan", "tiny.gguf", "--plan", "gguf.json", "--export", "hf", "--out", "out")
        done = self.succeed(*call)
        self.assertIn("out/hf/model.safetensors", done.out)
        header, _ = read_weights(self.folder / "out/hf/model.safetensors")
        self.assertEqual(header["model.layers.0.self_attn.q_proj.weight"]["shape"], [32, 32])
        self.assertEqual(header["__metadata__"], {"format": "pt"})
        self.assertFalse([file for file in (self.folder / "out/hf").iterdir() if file.is_symlink()])
        self.assertEqual(done.err, "")
        self.assertEqual(self.read("out/hf/generation_config.json"), {})
        # Generation ends at any token that ends a text or a turn.
        ids = {"bos": 1, "eos": 2, "padding": 2, "eot": 3, "eom": 3}
        fields = metadata() | {f"tokenizer.ggml.{name}_token_id": number for name, number in ids.items()}
        file.write_bytes(gguf(fields | {"tokenizer.chat_template": "{{ messages }}"}))
        self.succeed(*call)
        tokens = {"eos_token_id": [2, 3], "bos_token_id": 1, "pad_token_id": 2}
        for name in ("config.json", "generation_config.json"):
            written = json.loads((self.folder / "out/hf" / name).read_text())
            self.assertEqual({key: written.get(key) for key in tokens}, tokens)
        words = fields["tokenizer.ggml.tokens"]
        tokenizer = self.read("out/hf/tokenizer_config.json")
        named = {"bos_token": words[1], "eos_token": words[2], "pad_token": words[2]}
        self.assertEqual({key: tokenizer.get(key) for key in named}, named)
        self.assertEqual((self.folder / "out/hf/chat_template.jinja").read_text(), "{{ messages }}")
        self.assertTrue((self.folder / "out/hf/tokenizer.json").is_file())
        # SentencePiece has ids of its own where the file is silent, as for the tokenizer.
        named = {"tokenizer.ggml.model": "llama", "tokenizer.ggml.scores": [0.0] * len(words)}
        file.write_bytes(gguf(metadata() | named))
        self.succeed(*call)
        written = self.read("out/hf/generation_config.json")
        self.assertEqual(written, {"eos_token_id": 2, "bos_token_id": 1})
        # The weights are written all the same if there is no tokenizer.
        file.write_bytes(gguf(metadata() | {"tokenizer.ggml.model": "none"}))
        done = self.succeed(*call)
        self.assertIn("no tokenizer is written: tiny.gguf", done.err)
        # Nothing of it is left for another model.
        self.succeed(*EXISTING, "hf", "--out", "out")
        self.assertFalse((self.folder / "out/hf/generation_config.json").exists())
        file.write_bytes(gguf(metadata() | {"tokenizer.ggml.eos_token_id": 4_000_000_000}))
        self.refuse(BAD_INPUT, *call, says="tokenizer.ggml.eos_token_id")

    def test_whole_layers_without_code(self) -> None:
        windows = [{"layer": 1, "kv_head": head, "pattern": "window:size=24"} for head in (0, 1)]
        self.plan(changes=windows)
        done = self.succeed(*EXISTING, "hf-layers", "--out", "out")
        folder = self.folder / "out/hf-layers"
        config = json.loads((folder / "config.json").read_text())
        self.assertEqual(config["model_type"], "ministral")
        self.assertEqual(config["layer_types"], ["full_attention", "sliding_attention"])
        self.assertEqual(config["sliding_window"], 24)
        self.assertNotIn("auto_map", config)
        self.assertEqual(
            {file.name for file in folder.iterdir()},
            {"config.json", "plan.json", "README.md", "model.safetensors", "headgauge_export.json"},
        )
        self.assertIn("from_pretrained(FOLDER)\n", (folder / "README.md").read_text())
        self.assertIn("out/hf-layers/config.json", done.out)

    def test_what_is_no_plan_of_whole_layers(self) -> None:
        def refuse(heads, says) -> None:
            self.plan(name="odd.json", changes=heads)
            call = ("plan", "model", "--plan", "odd.json", "--export", "hf-layers", "--out", "out")
            self.refuse(UNSUPPORTED, *call, says=says)
            self.assertFalse((self.folder / "out").exists())

        def entry(layer, head, pattern):
            return {"layer": layer, "kv_head": head, "pattern": pattern}

        refuse([entry(0, 1, "window:size=24")], "layer 0: expected heads that are changed alike")
        refuse([entry(0, 0, "sinks:sinks=4,window=20")], "a window without sinks or full attention")
        different = [entry(layer, head, f"window:size={20 + layer}") for layer in (0, 1) for head in (0, 1)]
        refuse(different, "layer 1: expected a window of 20 keys")
        copy_golden("llama/gemma-plain", self.folder / "gemma")
        self.plan(name="gemma.json", changes=[], **self.of("gemma"))
        call = ("plan", "gemma", "--plan", "gemma.json", "--export", "hf-layers", "--out", "out")
        self.refuse(UNSUPPORTED, *call, says="one of llama, mistral, qwen2, qwen3, found gemma")
        config = self.read("model/config.json")
        config |= {"attention_bias": None, "mlp_bias": None, "head_dim": None}
        del config["max_position_embeddings"]
        (self.folder / "model/config.json").write_text(json.dumps(config))
        self.plan(name="none.json", changes=[])
        self.succeed("plan", "model", "--plan", "none.json", "--export", "hf-layers", "--out", "nulls")
        written = self.read("nulls/hf-layers/config.json")
        self.assertEqual(written["max_position_embeddings"], 2048)
        self.assertEqual(written["head_dim"], config["hidden_size"] // 6)
        copy_golden("llama/llama-biases", self.folder / "biases")
        self.plan(name="none.json", changes=[], heads=4)
        call = ("plan", "biases", "--plan", "none.json", "--export", "hf-layers", "--out", "out")
        self.refuse(UNSUPPORTED, *call, says="a model without biases")

    def test_a_search_by_layer(self) -> None:
        self.write_texts(5, 512)
        search = ("plan", "model", "--tokens", "a.txt", "--confirm", "b.txt", "--lengths", "128",
                  "--random-plans", "1", "--memory", "0.6", "--curve", "0.6", "--out", "out")  # fmt: skip
        self.succeed(*search, "--export", "hf-layers")
        plan = self.read("out/plan.json")
        self.assertTrue(plan["heads"])
        for head in plan["heads"]:
            self.assertEqual(head["pattern"], "window:size=16")
        by_layer = [sorted(head["kv_head"] for head in plan["heads"] if head["layer"] == layer)
                    for layer in (0, 1)]  # fmt: skip
        self.assertIn(by_layer, ([[0, 1], []], [[], [0, 1]], [[0, 1], [0, 1]]))
        config = self.read("out/hf-layers/config.json")
        self.assertEqual(config["sliding_window"], 16)
        self.assertEqual(
            config["layer_types"], ["sliding_attention" if heads else "full_attention" for heads in by_layer]
        )
        results = self.read("out/results.json")
        self.assertIs(results["settings"]["whole_layers"], True)
        self.refuse(USAGE, *search[:-5], "0.05", "--curve", "0.05", "--out", "small", "--export", "hf-layers",
                    says="the smallest choice in all heads")  # fmt: skip
        # Windows of 64 keys in all layers have no room in 25 %, a share of the default curve.
        self.succeed(
            *search[:-4], "--pattern", "window:size=64", "--out", "out", "--force", "--export", "hf-layers"
        )
        results = self.read("out/results.json")
        self.assertEqual(results["coords"]["budget"], ["60 %", "75 %", "50 %"])
        two = ("--pattern", "window:size=16,window:size=32")
        self.refuse(USAGE, *search, "--export", "hf-layers", *two, says="one size of window for all layers")
        # Any patterns, where no export limits them.
        whole = ("--whole-layers", "true", "--pattern", "sinks:sinks=2,window=30,window:size=9")
        self.succeed(*search, "--force", *whole)
        plan = self.read("out/plan.json")
        entries = {(head["layer"], head["kv_head"]): head.get("pattern") for head in plan["heads"]}
        for layer in (0, 1):
            self.assertEqual(entries.get((layer, 0)), entries.get((layer, 1)))

    def test_a_folder_is_of_the_last_model_alone(self) -> None:
        copy_golden("llama/llama-sharded", self.folder / "sharded")
        (self.folder / "model/tokenizer.json").write_text("{}")
        self.succeed(*EXISTING, "hf", "--out", "out")
        self.plan(name="sharded.json", **self.of("sharded"))
        self.succeed("plan", "sharded", "--plan", "sharded.json", "--export", "hf", "--out", "out")
        linked = {file.name for file in (self.folder / "out/hf").iterdir() if file.is_symlink()}
        given = {file.name for file in (self.folder / "sharded").iterdir()} - {"config.json"}
        self.assertEqual(linked, given)
        # A file of weights gets the name that transformers reads.
        (self.folder / "model/model.safetensors").rename(self.folder / "model/mine.safetensors")
        self.succeed("plan", "model/mine.safetensors", *EXISTING[2:], "hf", "--out", "out")
        linked = self.folder / "out/hf/model.safetensors"
        self.assertTrue(linked.samefile(self.folder / "model/mine.safetensors"))
        self.assertFalse((self.folder / "out/hf/mine.safetensors").exists())

    def test_models_that_the_folder_cannot_serve(self) -> None:
        for name, heads, says in (
            ("gemma2-plain", [], "whose scores are capped"),
            ("mistral-window", [{"layer": 1, "kv_head": 0, "normalizer": "uniform"}], "key-value head 1.0"),
        ):
            with self.subTest(name):
                copy_golden(f"llama/{name}", self.folder / name)
                self.plan(name="one.json", changes=heads, **self.of(name))
                call = ("plan", name, "--plan", "one.json", "--export", "hf", "--out", "none")
                self.refuse(UNSUPPORTED, *call, says=says)
                self.assertFalse((self.folder / "none").exists())

    def test_a_search_is_refused_before_it_begins(self) -> None:
        self.write_texts(4, 256)
        search = ("--tokens", "a.txt", "--confirm", "b.txt", "--lengths", "64", "--random-plans", "1",
                  "--memory", "0.5", "--pattern", "window:size=8", "--out", "out", "--export", "hf")  # fmt: skip
        copy_golden("llama/gemma2-plain", self.folder / "gemma2")
        copy_golden("llama/mistral-window", self.folder / "mistral")
        self.refuse(UNSUPPORTED, "plan", "gemma2", *search, says="whose scores are capped")
        means = ("--normalizer", "uniform")
        self.refuse(USAGE, "plan", "mistral", *search, *means, says="running means in a model with windows")
        self.assertFalse((self.folder / "out").exists())
        done = self.succeed("plan", "mistral", *search)
        self.assertIn("no normalizer is tried: the code for transformers has none in a model", done.err)
        self.assertTrue((self.folder / "out/hf/config.json").exists())

    def test_beside_a_search(self) -> None:
        self.write_texts(3, 256)
        texts = "plan model --tokens a.txt --confirm b.txt --lengths 64"
        search = [*texts.split(), *"--curve 0.5 --random-plans 1 --out out --export".split()]
        self.refuse(USAGE, *search, "hf", "--pattern", "topk:k=3", says=("--pattern", "topk:k=3"))
        done = self.succeed(*search, "hf", "--pattern", "sinks:sinks=1,window=7")
        for name in ("out/plan.json", "out/hf/plan.json"):
            self.assertIn(name, done.out)
        kinds = self.read("out/hf/config.json")["headgauge_plan"]
        plan = self.read("out/plan.json")
        self.assertTrue(plan["heads"])
        for head in plan["heads"]:
            kind = kinds[head["layer"]][head["kv_head"]]
            said = "uniform" if kind == "mean" else "sinks:sinks={},window={}".format(*kind)
            self.assertEqual(head.get("normalizer") or head["pattern"], said)
        self.assertEqual(sum(kind is not None for layer in kinds for kind in layer), len(plan["heads"]))
        results = self.read("out/results.json")
        self.assertEqual(results["settings"]["export"], ["hf"])
