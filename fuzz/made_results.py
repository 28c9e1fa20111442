"""Small results files, limits and saved states, for make_corpus.py."""

import json

SUM = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def text(value):
    return json.dumps(value, separators=(",", ":")).encode()


def nested(sizes, make, place=0):
    """Lists in lists of these sizes, with make(0), make(1), ... in order."""
    if not sizes:
        return make(place)
    step = 1
    for size in sizes[1:]:
        step *= size
    return [nested(sizes[1:], make, place + i * step) for i in range(sizes[0])]


def metric(coords, dims, scale, errors=True, unit="1", **others):
    sizes = [len(coords[dim]) for dim in dims]
    made = {"dims": dims, "unit": unit, "values": nested(sizes, lambda i: scale * (1 + i % 3))}
    if errors:
        made["stderr"] = nested(sizes, lambda i: None if i % 8 == 5 else 0.125)
        made["degrees_of_freedom"] = nested(sizes, lambda i: None if i % 8 == 5 else 7)
        made["rows"] = nested(sizes, lambda i: 16)
    return {**made, **others}


def results(command, coords, metrics, **others):
    return text(
        {
            "schema": "headgauge.results/3",
            "command": command,
            "tool": {"name": "headgauge", "version": "0.1.0", "simd": "avx2", "threads": 1},
            "model": {"name": "tiny", "family": "gpt2", "layers": 1, "heads": 2},
            "text": {"names": ["a.txt"], "sha256": [SUM], "tokens": [64]},
            "settings": {"seed": 7, "critical_max": 60, "level": 0.05},
            "partial": False,
            "layers_done": 0,
            "coords": coords,
            "metrics": metrics,
            **others,
        }
    )


def scan():
    coords = {
        "layer": [0],
        "head": [0, 1],
        "length": [32, 64],
        "top_n": [1, 5, 20],
        "position": [16, 64],
        "forecast_length": [128],
        "outcome": ["text"],
    }
    of_heads = ["layer", "head", "length"]
    metrics = {
        name: metric(coords, of_heads, scale)
        for name, scale in [
            ("entropy_normalized_with_sinks", 0.25),
            ("sink_weight", 0.25),
            ("effective_tokens_with_sinks", 3),
            ("max_weight_with_sinks", 0.2),
        ]
    }
    metrics["separability_sphere"] = metric(coords, [*of_heads, "top_n"], 0.5)
    metrics["entropy_with_sinks_by_position"] = metric(
        coords, ["layer", "head", "position"], 0.5, unit="nats"
    )
    metrics["critical_n_head"] = metric(coords, ["layer", "head"], 4, False, "keys", none=-1)
    metrics["nearest_head"] = metric(coords, ["layer", "head"], 1, False, identifier=True)
    metrics["loss"] = metric(coords, ["outcome", "length"], 2.5, unit="nats")
    metrics["cache_bytes"] = metric(coords, [], 12345.0, False, "bytes")
    return results(
        "scan",
        coords,
        metrics,
        flags=[
            {
                "name": "wide",
                "layer": 0,
                "head": 1,
                "length": 64,
                "value": 0.95,
                "threshold": 0.9,
                "source": "convention",
            }
        ],
        summary=[
            {
                "text": "At L = 64 head 0.1 has 17.2.",
                "heads": ["0.1"],
                "facts": [
                    {
                        "text": "64",
                        "kind": "coordinate",
                        "name": "length",
                        "cell": [1],
                        "value": 64.0,
                        "scale": 1.0,
                    }
                ],
            }
        ],
        examples=[
            {
                "layer": 0,
                "head": 1,
                "why": "far",
                "value": 0.5,
                "document": 0,
                "query": 9,
                "covered": 0.75,
                "keys": [1, 8],
                "weights": [0.5, 0.25],
            }
        ],
        passages=[{"document": 0, "first": 0, "tokens": ["The", " cat", "\n", "<b>"]}],
        notices=["3 rows had no mass"],
        timings={"total_s": 1.75},
    )


def compare():
    coords = {"layer": [0], "head": [0, 1], "length": [32, 64], "normalizer": ["original", "ssmax:s=0.43"]}
    coords["outcome"] = ["text", "keys"]
    of_loss = ["normalizer", "outcome", "length"]
    metrics = {
        "effective_tokens_with_sinks": metric(coords, ["layer", "head", "normalizer", "length"], 3),
        "loss": metric(coords, of_loss, 2.5, unit="nats"),
        "loss_change": metric(coords, of_loss, -0.5, unit="nats", change_of="loss"),
        "does_task": metric(coords, ["outcome"], 1, False),
        "answer_right": metric(coords, ["normalizer", "outcome"], 0.5, False),
        "kl": metric(coords, ["normalizer", "length"], 0.125, unit="nats"),
    }
    return results("compare", coords, metrics)


def diff():
    coords = {"layer": [0], "head": [0, 1], "run": ["old", "new"]}
    change = {
        "metric": "entropy_with_sinks",
        "labels": {"layer": "0", "head": "1"},
        "cell": [0, 1],
        "before": 1.0,
        "after": 2.0,
        "change": 1.0,
        "stderr": 0.1,
        "errors": 10.0,
        "degrees_of_freedom": 7,
        "p": 1e-5,
        "adjusted_p": 1e-4,
        "relative": 1.0,
        "values": 2,
        "changed": 1,
    }
    return results(
        "diff",
        coords,
        {
            "entropy_with_sinks": metric(coords, ["layer", "head", "run"], 1),
            "entropy_with_sinks_change": metric(coords, ["layer", "head"], 1, change_of="entropy_with_sinks"),
        },
        change_counts={
            "level": 0.05,
            "values": 2,
            "changed": 1,
            "by_chance": 0,
            "unmeasured_values": 0,
            "unmeasured_changed": 0,
            "too_few": 0,
            "found": 0,
        },
        changes=[change],
    )


def simulation():
    coords = {"tokens": [500, 1000], "scale": [0.5, 5.0]}
    names = ["horizon", "rate_predicted", "rate_mean", "rate_covariance"]
    metrics = {name: metric(coords, ["scale"], 0.5, False) for name in names}
    metrics["error_mean"] = metric(coords, ["scale", "tokens"], 0.1)
    claim = {
        "name": "rate",
        "paper": "B",
        "figure": "Fig. 2a",
        "statement": "S",
        "reading": "",
        "test": "T",
        "measured": "M",
        "verdict": "cannot tell",
        "facts": [{"name": "slope", "value": 0.5}],
    }
    return results("converge --synthetic", coords, metrics, claims=[claim])


def converge():
    coords = {
        "layer": [0],
        "head": [0, 1],
        "length": [64],
        "tolerance": [0.05],
        "sampler": ["recent", "uniform"],
        "cache": ["full", "kept"],
    }
    names = ["horizon", "rate_predicted", "rate_covariance"]
    metrics = {name: metric(coords, ["layer", "head"], 0.5) for name in names}
    metrics["tokens_for_error"] = metric(coords, ["layer", "head", "tolerance", "sampler"], 8, False, "keys")
    metrics["cache_bytes"] = metric(coords, ["cache"], 1024, False, "bytes")
    return results("converge", coords, metrics)


def with_parts(coords, dims, scale):
    """A metric with intervals and p."""
    parts = {part: metric(coords, dims, scale, False)["values"] for part in ("low", "high", "p")}
    return {**metric(coords, dims, scale, False), **parts}


def validation():
    coords = {
        "predictor": ["entropy_with_sinks", "flag wide"],
        "intervention": ["uniform"],
        "text": ["a.txt", "b.txt"],
        "outcome": ["text"],
    }
    pairs = ["predictor", "intervention", "outcome"]
    metrics = {
        "rank_correlation": with_parts(coords, pairs, 0.5),
        "predicts": metric(coords, pairs, 1, False),
    }
    return results("validate", coords, metrics)


def plan():
    coords = {
        "layer": [0],
        "head": [0, 1],
        "budget": ["0.5", "0.25"],
        "draw": [0, 1],
        "method": ["plan", "window", "random"],
        "outcome": ["text", "replay"],
    }
    of_methods = ["method", "budget", "outcome"]
    metrics = {name: with_parts(coords, of_methods, 0.125) for name in ["planned_change", "plan_difference"]}
    metrics["planned_cache_share"] = metric(coords, ["method", "budget"], 0.125, False)
    metrics["random_plans_p"] = metric(coords, ["budget"], 0.01, False)
    metrics["random_change"] = metric(coords, ["budget", "draw"], 0.25, False)
    return results("plan", coords, metrics)


def schema_1():
    coords = {"layer": [0], "head": [0], "length": [32]}
    return text(
        {
            "schema": "headgauge.results/1.3",
            "settings": {"command": "scan"},
            "coords": coords,
            "metrics": {"entropy_with_sinks": metric(coords, ["layer", "head", "length"], 1, False)},
            "summary": [
                {
                    "text": "1",
                    "heads": [],
                    "facts": [{"text": "1", "metric": "coords.length", "cell": [0], "value": 1, "scale": 1}],
                }
            ],
        }
    )


def no_cells():
    dims = [chr(ord("a") + k) for k in range(21)]
    coords = {dim: [] if dim == "a" else list(range(10)) for dim in dims}
    return results("scan", coords, {"m": {"dims": dims, "unit": "1", "values": []}})


def limits(*entries):
    return text({"schema": "headgauge.limits/1", "limits": entries})


FILES = {
    "results/scan.json": scan(),
    "results/compare.json": compare(),
    "results/diff.json": diff(),
    "results/simulation.json": simulation(),
    "results/converge.json": converge(),
    "results/validation.json": validation(),
    "results/plan.json": plan(),
    "results/schema_1.json": schema_1(),
    "results/no_cells.json": no_cells(),
    "limits/loss.json": limits(
        {"metric": "loss", "max_increase": 0.02, "relative": True, "where": {"length": 64}}
    ),
    "limits/heads.json": limits(
        {
            "metric": "entropy_normalized_with_sinks",
            "heads": "0.1,0.*",
            "max_decrease": 0.1,
            "errors": 2,
            "where": {"length": [32, 64]},
        },
        {"metric": "critical_n_head", "max_increase": 0, "max_decrease": 0},
    ),
}
