"""A sparse pattern of one's own: the first four keys, and every key whose position is a multiple of four.

python examples/python/own_pattern.py MODEL TEXT
"""

import sys
from pathlib import Path

import numpy as np

import headgauge


class EveryFourth(headgauge.Pattern):
    name = "every-fourth"

    def select(self, rows):
        keys = np.arange(rows.visible.shape[1])
        kept = (keys < 4) | (keys % 4 == 0)
        return kept | (keys == rows.query[:, None])


model, text = sys.argv[1:]
results = headgauge.compare(
    model, Path(text), pattern=[EveryFourth()], lengths=[64], measures=["weights", "counterfactual", "model"]
)
print(results.summary())
