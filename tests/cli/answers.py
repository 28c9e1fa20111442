"""Cases of tasks whose answers a model gets right: what it says by itself."""

import json
import random

from tests.cli.command import CommandTest

VOCABULARY = 41


def likeliest(test: CommandTest, model: str, lengths: list[int], seed: int = 3) -> list[dict]:
    """Cases with random prompts of these lengths, whose answer is the model's most likely token."""
    draw = random.Random(seed)
    prompts = [[draw.randrange(31) for _ in range(length)] for length in lengths]
    tried = [
        {"task": f"{p} {token}", "prompt": prompt, "answer": [token]}
        for p, prompt in enumerate(prompts)
        for token in range(VOCABULARY)
    ]
    write_cases(test, "tried.jsonl", tried)
    words = ("--tasks", "tried.jsonl", "--cases", len(tried), "--lengths", 16, "--measures", "weights")
    test.succeed("scan", model, *words, "--out", "tried", "--force", "--quiet")
    results = json.loads((test.folder / "tried/results.json").read_text(encoding="utf-8"))
    right = dict(zip(results["coords"]["outcome"], results["metrics"]["answer_right"]["values"], strict=True))
    return [
        {
            "prompt": prompt,
            "answer": [next(token for token in range(VOCABULARY) if right[f"{p} {token}"] == 1)],
            "distance": 12,
        }
        for p, prompt in enumerate(prompts)
    ]


def write_cases(test: CommandTest, name: str, cases: list[dict]) -> None:
    test.write(name, "".join(json.dumps(case) + "\n" for case in cases))
