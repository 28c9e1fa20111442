"""Payloads in names and labels: what a page, a spreadsheet and a terminal would run."""

import csv
import html.parser
import json
import os
import re
import shutil
import subprocess
from xml.etree import ElementTree

from tests.cli.checkpoints import change_config, make_dump
from tests.cli.command import environment
from tests.cli.terminal import Terminal
from tests.faults.mutate import LISTS, json_text
from tests.faults.trial import SECONDS, Done, Fault, Skip, Trial, plain
from tests.places import ROOT

RAN = "data-payload-ran"
CODE = f"document.documentElement.setAttribute('{RAN}','1')"
PAGE = [text.replace("CODE", CODE) for text in LISTS["page"]]
SHEET, TERMINAL = LISTS["sheet"], LISTS["terminal"]
VIEWS = ("", *"#overview #heads #head/0.0 #head/1.1 #model #papers #plan #provenance #changes".split())
BROWSER = (
    "--headless --no-sandbox --disable-gpu --no-first-run --disable-dev-shm-usage "
    "--disable-background-networking --disable-component-update --disable-sync "
    "--virtual-time-budget=4000"
).split()


def poisoned(trial: Trial, payloads: list[str], name: str = "of-scan") -> dict:
    """Results with payloads in every place of a name, a label or a sentence."""
    draw = trial.draw
    results = json.loads(json.dumps(trial.materials.results[name]))

    def one() -> str:
        return draw.choice(payloads)

    results["model"] |= {"name": one(), "family": one(), one(): one()}
    results["tool"] |= {"name": one(), "version": one(), "simd": one()}
    results["text"]["names"] = [one() for _ in results["text"]["names"]]
    results["settings"] |= {one(): one(), "normalizer": one(), "seed": one()}
    results["notices"] = [one(), one()]
    results["timings"] |= {one(): 1.0}
    for sentence in results.get("summary", []):
        sentence["text"] = one() + sentence["text"] if draw.random() < 0.5 else sentence["text"]
    for flag in results.get("flags", []):
        flag |= {"name": one(), "advice": one(), "source": one()}
    for passage in results.get("passages", []):
        passage |= {
            key: [one() for _ in value]
            for key, value in passage.items()
            if isinstance(value, list) and value and isinstance(value[0], str)
        }
    results["coords"]["role"] = [one() + str(k) for k in range(len(results["coords"].get("role", [])))]
    if not results["coords"]["role"]:
        del results["coords"]["role"]
    metric = {
        "dims": ["layer", "head", "poison"],
        "unit": one(),
        "title": one(),
        "values": [[[0.5, 1.5]] * len(results["coords"]["head"])] * len(results["coords"]["layer"]),
    }
    results["coords"]["poison"] = draw.sample(payloads, 2)
    results["metrics"][one()] = metric
    draw.choice(list(results["metrics"].values()))["unit"] = one()
    return results


def page(trial: Trial) -> None:
    """Markup in names, labels and sentences, on the page in chromium and in the figures."""
    name = trial.draw.choice(("of-scan", "of-scan", "of-compare", "of-converge", "of-plan", "of-diff"))
    trial.write("bad.json", json_text(poisoned(trial, PAGE, name)))
    trial.run("report", "bad.json", "--format", "svg", "--out", "figures", changes=True, quiet=False)
    for figure in (trial.folder / "figures").glob("*.svg"):
        only_drawn(figure.read_text(encoding="utf-8"), figure.name)
    done = trial.run("report", "bad.json", "--out", "page.html", changes=True, quiet=False)
    if done.code != 0:
        return
    text = (trial.folder / "page.html").read_text(encoding="utf-8")
    good = trial.run("report", trial.materials.folder / name, "--out", "good.html", changes=True, quiet=False)
    if (
        good.code == 0
        and abs(scripts(text) - scripts((trial.folder / "good.html").read_text(encoding="utf-8"))) > 1
    ):
        raise Fault(f"the page has {scripts(text)} scripts")  # one more: the metric that was added
    look(trial, "page.html", trial.draw.choice(VIEWS))


# Attributes that a browser follows; the value of an <option> is a text like any other.
ADDRESSES = ("href", "xlink:href", "src", "srcdoc", "action", "formaction", "data", "poster")


RUN = ("script", "iframe", "object", "embed", "foreignobject")


def only_drawn(text: str, name: str = "figure") -> None:
    """Nothing in an SVG runs; what stands within a value of an attribute is a text."""
    try:
        elements = list(ElementTree.fromstring(text).iter())
    except ElementTree.ParseError as error:
        raise Fault(f"{name} is no XML: {error}") from None
    for element in elements:
        tag = element.tag.rpartition("}")[2].lower()
        for attribute, value in element.attrib.items():
            local = attribute.rpartition("}")[2].lower()
            leads = local in ADDRESSES and value.strip().lower().startswith("javascript:")
            if local.startswith("on") or leads:
                raise Fault(f"{name} has <{tag} {attribute}={value!r}>")
        if tag in RUN:
            raise Fault(f"{name} has <{tag}>")


class Scripts(html.parser.HTMLParser):
    """Counts elements that run."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def handle_starttag(self, tag: str, attributes) -> None:
        self.count += tag in RUN
        for name, value in attributes:
            leads = name in ADDRESSES and (value or "").strip().startswith("javascript:")
            if name.startswith("on") or leads or RAN in (name, value):
                raise Fault(f"an element runs: <{tag} {name}={value!r}>")


# What it complains of.
SCRIPT_FAULTS = ("<img src=x onerror=f()>", "<a href='javascript:f()'>x</a>", f"<html {RAN}=1>")


def scripts(text: str) -> int:
    parser = Scripts()
    parser.feed(text)
    return parser.count


def look(trial: Trial, name: str, view: str) -> None:
    """The page as chromium has it in the end: shown, and with nothing of the payloads run."""
    browser = os.environ.get("HEADGAUGE_CHROMIUM") or shutil.which("chromium")
    if browser is None:
        raise Skip("all: no program chromium")
    own = trial.folder / "browser"
    own.mkdir()
    try:
        address = (trial.folder / name).as_uri() + view
        done = subprocess.run(
            [browser, *BROWSER, f"--user-data-dir={own}", "--dump-dom", address],
            env=environment(HOME=str(own), XDG_CONFIG_HOME=str(own), XDG_CACHE_HOME=str(own)),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=3 * SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise Fault(f"chromium does not end with {name}{view}") from None
    dom = done.stdout.decode("utf-8", "replace")
    if "<html" not in dom:
        raise Skip(f"all: chromium shows nothing here (exit {done.returncode})")
    if re.search(rf"<html[^>]*{RAN}", dom):
        raise Fault(f"a payload ran on the page at {view or 'its beginning'}")
    if "data-shown" not in dom and 'class="failure"' not in dom:
        raise Fault(f"the page shows nothing at {view or 'its beginning'}")
    scripts(dom)


def spreadsheet(trial: Trial) -> None:
    """Formulas in labels, in heads.csv of diff; every cell of it is a label as it was, or defused."""
    good = json.loads(json.dumps(trial.materials.results["made"]))
    labels = trial.draw.sample(SHEET, 2)
    good["coords"]["normalizer"] = labels
    good["metrics"] = {
        "entropy_with_sinks": {
            "dims": ["layer", "head", "normalizer", "length"],
            "unit": "nats",
            "values": [[[[1.0, 1.0]] * 2] * 3] * 2,
        }
    }
    for key in ("flags", "summary"):
        good[key] = []
    trial.write("r.json", json_text(good))
    done = trial.run("diff", "r.json", "r.json", "--out", "out", "--quiet")
    if done.code != 0:
        return
    with (trial.folder / "out/heads.csv").open(newline="", encoding="utf-8") as table:
        cells = {cell for row in csv.reader(table) for cell in row}
    for cell in cells:
        number = re.fullmatch(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", cell, re.IGNORECASE)
        if cell[:1] in ("=", "+", "-", "@", "\t", "\r") and not number:
            raise Fault(f"a spreadsheet runs {cell!r}")
    for label in labels:
        if not {label, "'" + label} & cells:
            raise Fault(f"the label {label!r} is in no cell of {sorted(cells)}")


def terminal(trial: Trial) -> None:
    """What acts on a terminal: in names of files, in values of files and on the command line."""
    draw = trial.draw
    trial.materials.take("model", trial.folder)
    word = "a" + "".join(draw.choice(TERMINAL) for _ in range(draw.choice((1, 2, 4)))) + "b"
    name = word.replace("\x00", "").replace("/", "")[:60]
    how = draw.randrange(8)
    ids = trial.materials.ids.read_text()
    if how == 0:
        trial.write(name, ids)
        command = ["scan", "model", "--tokens", name, *"--lengths 16 --measures weights --threads 1".split()]
    elif how == 1:
        option = draw.choice(("--heads", "--lengths", "--pattern", "--sort", "--measures"))
        command = ["scan", "model", "--tokens", "ids.txt", option, name]
    elif how == 2:
        trial.write("ids.txt", ids)
        field = draw.choice(("model_type", "n_layer", "activation_function"))
        change_config(trial.folder / "model", **{field: word.encode("utf-8", "replace").decode()})
        command = ["scan", "model", "--tokens", "ids.txt", "--quiet"]
    elif how == 3:
        tensor = word.encode("utf-8", "replace").decode()
        make_dump(trial.folder / "dump.safetensors", 1, 1, 8, 4, **{tensor: ([1], [1.0])})
        command = [draw.choice(("inspect", "scan")), "dump.safetensors"]
    elif how == 4:
        words = [w.encode("utf-8", "replace").decode() for w in TERMINAL]
        trial.write("bad.json", json_text(poisoned(trial, words)))
        trial.write("good.json", json_text(trial.materials.results["of-scan"]))
        command = ["diff", *draw.sample(["bad.json", "good.json"], 2), *draw.choice(((), ("--json",)))]
    elif how == 5:
        (trial.folder / "model").rename(trial.folder / name)
        command = ["inspect", name, *draw.choice(((), ("--json",)))]
    elif how == 6:
        command = [draw.choice((name, "scan")), name, "--" + name]
    else:
        limits = [{"metric": word, "max_increase": 0}]
        trial.write("limits.json", json.dumps({"schema": "headgauge.limits/1", "limits": limits}))
        trial.write("good.json", (ROOT / "tests/results/data/made.json").read_bytes())
        command = ["diff", "good.json", "good.json", "--limits", "limits.json"]
    trial.run(*command, quiet=False)
    dumb = draw.random() < 0.3
    shown = Terminal(
        *command, cwd=trial.folder, stdout=True, env=environment(TERM="dumb" if dumb else "xterm")
    )
    code = shown.finish()
    if dumb and "\x1b" in shown.shown:
        raise Fault(f"an escape on a terminal that knows none: {shown.shown[:600]!r}")
    # Colours, and the bar that is drawn and wiped, are headgauge's own.
    left = re.sub(
        r"\x1b\[(?:\d+(?:;\d+)*)?m|\r\x1b\[K|\r\n|\r(?=\x1b)|\x1b\[K|\r[^\r\n]*(?=\r)", "\n", shown.shown
    )
    plain(
        left.encode("utf-8", "replace"),
        Done(tuple(map(str, command)), code, b"", left.encode("utf-8", "replace"), 0, 0),
    )
