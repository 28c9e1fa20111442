"""Hostile files for every reader: each trial changes a good one, and runs what reads it."""

import copy
import hashlib
import json
import re

from tests.cli.checkpoints import read_weights
from tests.faults.materials import DEMO, SMALL, TOKENS, named_goldens
from tests.faults.mutate import (
    BYTES,
    LISTS,
    NUMBERS,
    change_json,
    choose_node,
    hostile_bytes,
    hostile_json,
    hostile_value,
    hostile_words,
    json_text,
)
from tests.faults.trial import Trial

AS_MEMORY = "ulimit -v 1500000"  # KiB
QUICK = ("--measures", "weights", "--lengths", "16,32", *SMALL)


def results(trial: Trial) -> None:
    """A changed results.json, for the page, the figures, the differences and the gate."""
    draw = trial.draw
    _, good = draw.choice(sorted(trial.materials.results.items()))
    trial.write("bad.json", hostile_json(good, draw))
    trial.write("good.json", json_text(good))
    how = draw.randrange(5)
    if how == 0:
        trial.run("report", "bad.json", shell=AS_MEMORY)
    elif how == 1:
        trial.run(
            *"report bad.json --format svg --out figures".split(), shell=AS_MEMORY, changes=True, quiet=False
        )
    elif how == 2:
        pair = ["bad.json", "good.json"]
        draw.shuffle(pair)
        trial.run(
            "diff", *pair, "--quiet", *draw.choice(((), ("--json",), ("--out", "out"))), shell=AS_MEMORY
        )
    else:
        trial.write("limits.json", json_text(limits_for(good, draw)))
        trial.run("diff", "good.json", "bad.json", "--quiet", "--limits", "limits.json", shell=AS_MEMORY)


def limits_for(good: dict, draw) -> dict:
    """Limits of metrics that a file has, with their dims in `where`."""
    found = []
    for _ in range(draw.choice((1, 2, 4))):
        metric = draw.choice(sorted(good["metrics"]))
        limit = {
            "metric": metric,
            draw.choice(("max_increase", "max_decrease")): draw.choice((0, 0.1, 1e300)),
        }
        dims = good["metrics"][metric]["dims"]
        if dims and draw.random() < 0.5:
            dim = draw.choice(dims)
            limit["where"] = {dim: draw.choice((good["coords"][dim], good["coords"][dim][0]))}
        if "head" in dims and draw.random() < 0.3:
            limit["heads"] = draw.choice(("0.*", "0.0,1.1", "*.1"))
        if draw.random() < 0.3:
            limit[draw.choice(("relative", "errors"))] = draw.choice((True, False, 0, 2))
        found.append(limit)
    return {"schema": "headgauge.limits/1", "limits": found}


def limits(trial: Trial) -> None:
    """A changed file of limits."""
    _, good = trial.draw.choice(sorted(trial.materials.results.items()))
    trial.write("good.json", json_text(good))
    trial.write("limits.json", hostile_json(limits_for(good, trial.draw), trial.draw))
    trial.run("diff", "good.json", "good.json", "--quiet", "--limits", "limits.json", shell=AS_MEMORY)


def plans(trial: Trial) -> None:
    """A changed plan, for scan, compare and converge."""
    draw = trial.draw
    for name in ("model", "a.txt"):
        trial.materials.take(name, trial.folder)
    plan = trial.materials.plan
    if draw.random() < 0.3:  # rules of every kind, also odd ones
        plan = {
            **plan,
            "heads": [
                {
                    "layer": draw.choice((0, 1, 2, -1)),
                    "kv_head": draw.choice((0, 1, 7)),
                    draw.choice(("pattern", "normalizer")): spec(draw),
                }
                for _ in range(draw.randrange(1, 5))
            ],
        }
    trial.write("plan.json", hostile_json(plan, draw))
    command = draw.choice(("scan", "scan", "compare", "converge"))
    more = ("--replicates", "4", "--points", "3") if command == "converge" else ()
    words = "model --tokens a.txt --plan plan.json --measures weights --lengths 96".split()
    trial.run(command, *words, *more, *SMALL, shell=AS_MEMORY)


FRACTION = re.compile(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?")


def reproduction(trial: Trial) -> None:
    """A changed part of a reproduction: its results or their checksum."""
    trial.materials.reproduction
    out = trial.materials.take("reproduction", trial.folder, "out")
    path = trial.draw.choice(sorted(out.glob("*/results.json*")))
    if path.name == "results.json" and trial.draw.random() < 0.7:
        document = json.loads(path.read_text())
        change_json(document[trial.draw.choice(("metrics", "coords", "settings"))], trial.draw)
        path.write_text(json_text(document), encoding="utf-8", errors="replace")
        sealed = hashlib.sha256(path.read_bytes()).hexdigest()
        path.with_name("results.json.sha256").write_text(f"{sealed}  results.json\n")
    else:
        path.write_bytes(hostile_bytes(path.read_bytes(), trial.draw))
    trial.run(*TOKENS, "--out", "out", "--force", codes={0, 3}, changes=True, shell=AS_MEMORY)


def tokenizer_files(trial: Trial) -> None:
    """A changed tokenizer.json with a text, and parts of a tokenizer that have parameters of their own."""
    draw = trial.draw
    small_model_with_text(trial)
    tokenizer = json.loads(json.dumps(trial.materials.tokenizer))
    if draw.random() < 0.6:
        part = draw.choice(("normalizer", "pre_tokenizer", "post_processor", "decoder", "model"))
        tokenizer[part] = copy.deepcopy(draw.choice(LISTS[f"tokenizer {part}"]))
        if draw.random() < 0.6:
            change_json(tokenizer[part], draw)
        content = json_text(tokenizer).encode("utf-8", "surrogatepass")
    else:
        content = hostile_json(tokenizer, draw)
    trial.write("model/tokenizer.json", content)
    command = draw.choice(
        (("scan", "model", "--text", "text.txt", *QUICK, "--layers", "0"), ("inspect", "model"))
    )
    trial.run(*command, shell=AS_MEMORY)


def small_model_with_text(trial: Trial) -> None:
    """The demo model, whose vocabulary has the tokens, of which one layer is run."""
    (trial.folder / "model").mkdir()
    for name in ("config.json", "model.safetensors"):
        (trial.folder / "model" / name).symlink_to(DEMO / "model" / name)
    trial.write("text.txt", '!!"a b-c de the tide ()' * 20)


def token_ids(trial: Trial) -> None:
    """Files of token ids: odd numbers, bytes and separators."""
    draw = trial.draw
    trial.materials.take("model", trial.folder)
    good = trial.materials.ids.read_text().split()
    if draw.random() < 0.5:
        for _ in range(draw.choice((1, 2, 5))):
            good[draw.randrange(len(good))] = draw.choice(
                (*map(str, NUMBERS), "+1", "0x1", "1.0", "1e2", "٣", "", "9" * 300)
            )
        content = draw.choice((" ", "\n", "\t", "\r\n", "\v", ",", "\u00a0", "\u3000")).join(good).encode()
    else:
        content = hostile_bytes(" ".join(good).encode(), draw)
    trial.write("ids.txt", content)
    trial.run("scan", "model", "--tokens", "ids.txt", *QUICK, shell=AS_MEMORY)


def texts(trial: Trial) -> None:
    """Texts that are odd or no texts."""
    draw = trial.draw
    small_model_with_text(trial)
    trial.write("model/tokenizer.json", json_text(trial.materials.tokenizer))
    letters = (
        "the tide house of carrow ",
        "the tide house at the pier " * 20,
        "a\u0301" * 40,
        "\u202eabc",
        "\x00",
        "\ufeff",
        "𝕏" * 9,
        "\r\n\r\n",
        "ﷺ",
        "\u200d" * 50,
        "x" * 300000,
        " " * 100000,
        "\n" * 100000,
        "ab" * 70000,
        "\U0010ffff",
        "<|endoftext|>",
    )
    text = "".join(draw.choice(letters) for _ in range(draw.choice((0, 1, 3, 6, 12)))).encode()
    how = draw.randrange(8)
    if how == 0:
        text = text.decode().encode(draw.choice(("utf-16", "utf-32", "utf-8-sig", "utf-16-be")))
    elif how == 1:
        at = draw.randrange(len(text) + 1)
        text = text[:at] + draw.choice(BYTES) + text[at:]
    elif how == 2:
        text = text[: draw.randrange(len(text) + 1)]
    trial.write("text.txt", text)
    trial.run("scan", "model", "--text", "text.txt", *QUICK, "--layers", "0", shell=AS_MEMORY)


def configs(trial: Trial) -> None:
    """A changed config.json against the tensors, under a limit of memory."""
    draw = trial.draw
    model = trial.materials.golden(draw.choice(named_goldens("gpt2", "llama", "bert")), trial.folder)
    path = model / "config.json"
    config = json.loads(path.read_text())
    for _ in range(draw.choice((1, 1, 2, 4))):
        key = draw.choice(sorted(config))
        value = config[key]
        if isinstance(value, int) and draw.random() < 0.7:
            config[key] = draw.choice((*NUMBERS, value + 1, value - 1, value * 2, value // 2, -value))
        else:
            config[key] = hostile_value(draw)
    path.write_bytes(
        json_text(config).encode("utf-8", "surrogatepass")
        if draw.random() < 0.7
        else hostile_json(config, draw)
    )
    scan, inspect = commands_of_model(trial, "--lengths", "8,16", "--measures", "weights,model")
    trial.run(*draw.choice((scan, scan, inspect)), shell="ulimit -v 700000", quiet=False)


def commands_of_model(trial: Trial, *options: str) -> tuple[tuple[str, ...], ...]:
    """What reads `model`, a golden one; its ids are made."""
    trial.write("ids.txt", " ".join(str(i * 5 % 17) for i in range(16)))
    options = options or ("--measures", "weights", "--lengths", "8")
    return ("scan", "model", "--tokens", "ids.txt", *options, *SMALL), ("inspect", "model")


def headers(trial: Trial) -> None:
    """The header of a safetensors file, of a model or of a dump: its JSON, its length, its bytes."""
    draw = trial.draw
    dump = draw.random() < 0.4
    if dump:
        trial.materials.dump
        path = trial.materials.take("dump.safetensors", trial.folder)
        commands = (("scan", path.name, *QUICK[:2], *SMALL), ("inspect", path.name))
    else:
        name = draw.choice(named_goldens("gpt2", "llama"))
        path = trial.materials.golden(name, trial.folder) / "model.safetensors"
        commands = commands_of_model(trial)
    header, data = read_weights(path)
    text = hostile_json(header, draw)
    length = draw.choice(
        (len(text),) * 20 + (0, 1, len(text) - 1, len(text) + 8, 2**31, 2**63 - 1, 2**64 - 1)
    )
    content = length.to_bytes(8, "little") + text + data
    path.write_bytes(hostile_bytes(content, draw) if draw.random() < 0.1 else content)
    trial.run(*draw.choice(commands), shell=AS_MEMORY, quiet=False)


def indices(trial: Trial) -> None:
    """The index of a model in several files, and those files."""
    draw = trial.draw
    model = trial.materials.golden(draw.choice(("gpt2/sharded", "llama/llama-sharded")), trial.folder)
    index = next(model.glob("*.index.json"))
    document = json.loads(index.read_text())
    if draw.random() < 0.4:
        node = choose_node(document["weight_map"], draw)
        node[0][node[1]] = draw.choice(
            ("../../etc/passwd", "/dev/zero", "config.json", "", ".", "a/b", "\x00", 3, "\x1b[2J")
        )
        index.write_text(json.dumps(document))
    else:
        index.write_bytes(hostile_json(document, draw))
    if draw.random() < 0.2:
        draw.choice(sorted(model.glob("*.safetensors"))).unlink()
    trial.run(*draw.choice(commands_of_model(trial)), shell=AS_MEMORY, quiet=False)


def spec(draw) -> str:
    """A rule in the languages of --pattern and --normalizer, good or odd."""
    good = (
        "softmax:t=2 ssmax:s=0.43,b=0 sparsemax entmax:alpha=1.5 window:size=8,global=1 "
        "sinks:sinks=2,window=6 bigbird:window=4,random=2,global=1,seed=3 topk:k=3 "
        "uniform logn cosine:g=10 yarn:factor=4"
    ).split()
    if draw.random() < 0.5:
        return draw.choice(good)
    return hostile_words([draw.choice(good)], draw)[:2000].replace("\n", " ")


def options(trial: Trial) -> None:
    """The languages of options: lists of heads, layers, lengths, sets, numbers, rules, names."""
    draw = trial.draw
    trial.materials.take("model", trial.folder)
    trial.materials.take("ids.txt", trial.folder)
    languages = LISTS["options"]
    command = ["scan", "model", "--tokens", "ids.txt", "--measures", "weights", "--lengths", "16,32", *SMALL]
    for name in draw.sample(sorted([*languages, "--pattern", "--normalizer"]), draw.choice((1, 1, 2, 3))):
        value = hostile_words(languages[name], draw) if name in languages else spec(draw)
        if name in command:
            command[command.index(name) + 1] = value
        else:
            command += [name, value]
    if draw.random() < 0.15:
        command = [*"compare model --tokens ids.txt --measures weights --lengths 16".split(), *SMALL]
        command += [draw.choice(("--normalizer", "--pattern"))]
        command += [",".join(spec(draw) for _ in range(draw.choice((1, 2, 3))))]
    trial.run(*command, shell=AS_MEMORY)
