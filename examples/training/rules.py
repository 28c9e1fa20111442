"""The rules that the decoders learn under."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Rule:
    """A normalizer, and the scale of its logits if the model learns one."""

    spec: str
    scale: str | None = None
    """"log": s log n with s of each head. "power": 1 + beta (log n)^gamma with beta and gamma of each
    head and token. None: the logits are not scaled further."""


RULES = {
    "softmax": Rule("softmax"),
    "ssmax": Rule("softmax", "log"),
    "logn": Rule("logn"),
    "softmax1": Rule("softmax1"),
    "sigmoid": Rule("sigmoid"),
    "sasoftmax": Rule("sasoftmax"),
    "softpick": Rule("softpick"),
    "sparsemax": Rule("sparsemax"),
    "entmax": Rule("entmax"),
    "asentmax": Rule("entmax", "power"),
    "entmax-logn": Rule("entmax-logn"),
}


def rule_of(name: str) -> Rule:
    """Returns the rule of that name, or else the normalizer of that spec."""
    return RULES.get(name) or Rule(name)
