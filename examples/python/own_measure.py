"""A measure of one's own: how much of its weight each head puts on the token before the query.

python examples/python/own_measure.py MODEL TEXT
"""

import sys
from pathlib import Path

import numpy as np

import headgauge


class PreviousToken(headgauge.Measure):
    metrics = {"previous_token_weight": ("1", "weight on the token before the query")}

    def observe(self, rows):
        before = rows.weights[np.arange(len(rows.query)), rows.query - 1]
        return {"previous_token_weight": np.where(rows.query > 0, before, np.nan)}


model, text = sys.argv[1:]
results = headgauge.scan(model, Path(text), lengths=[32], measures=["weights", PreviousToken()])
for layer, heads in enumerate(results["previous_token_weight"].values[..., 0]):
    print(f"layer {layer}:", *(f"{weight:.3f}" for weight in heads))
