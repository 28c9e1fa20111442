"""A normalizer of one's own, set against softmax: weights in proportion to (1 + logit - max)^2 above 0.

python examples/python/own_normalizer.py MODEL TEXT
"""

import sys
from pathlib import Path

import numpy as np

import headgauge


class Square(headgauge.Normalizer):
    name = "square"

    def weigh(self, logits, position):
        above = np.maximum(1 + logits - logits.max(1, keepdims=True), 0) ** 2
        return above / above.sum(1, keepdims=True)


model, text = sys.argv[1:]
results = headgauge.compare(
    model, Path(text), normalizer=["sparsemax", Square()], lengths=[64], measures=["weights", "model"]
)
print(results.summary())
