"""Metrics of the weights group, by row (mathematics.md section 7, G1 and G4, and 7a)."""

import numpy as np

from tests.reference.arrays import Array
from tests.reference.averages import STAND_FOR
from tests.reference.normalizers import SOFTMAX
from tests.reference.rows import TIE_GRID, RowBlock

MASS_SHARE = 0.9
ROUNDING = 1e-12  # a mass within this of .9 has reached it
SINGLE_PRECISION = 2e-6  # what float32 logits and weights may do to a mass
WITH_SINKS = "_with_sinks"  # ends the name of a metric that counts sinks, too
DOUBT = "_doubt"  # what single precision cannot tell: a number that hangs by less, a quotient of small ones
LAST_BITS = 2.0**-22  # what rounding a weight to float32 may do to its logarithm


def entropy(p: Array) -> Array:
    """G1: Ent = -sum p log p in nats, along the last axis, 0 log 0 = 0."""
    logs = np.log(p, out=np.zeros_like(p), where=p > 0.0)
    return np.asarray(-(p * logs).sum(axis=-1))


def spread(p: Array, t: Array, counts: Array) -> dict[str, Array]:
    """What a row of shares p spreads over; NaN where it counts as nothing. `n` as in `counts`."""
    with np.errstate(divide="ignore", invalid="ignore"):
        ent = entropy(p)
        keys = np.arange(1, p.shape[1] + 1)
        k90, doubt = keys_for_mass(p)
        return {
            "entropy": ent,
            "entropy_normalized": np.where(counts >= 2, ent / np.log(counts), np.nan),
            "effective_tokens": np.exp(ent),
            "participation_ratio": 1.0 / (p * p).sum(axis=1),
            "mass_90": k90,
            "mass_90" + DOUBT: doubt,
            "attention_distance": (p * np.abs(t[:, None] - keys[None, :])).sum(axis=1),
            "max_weight": p.max(axis=1),
        }


def beyond_sinks(block: RowBlock, magnitude: Array, whole: Array) -> dict[str, Array]:
    """7g: the same of the weights on keys that are no sinks; each row counts by that weight."""
    rest = np.where(block.at_sinks, 0.0, magnitude)
    mass = rest.sum(axis=1)
    share = np.divide(mass, whole, out=np.zeros_like(mass), where=whole > 0.0)
    sinks = block.at_sinks.sum(axis=1)
    found = spread(rest / np.where(mass > 0.0, mass, 1.0)[:, None], block.t, block.n - sinks)
    values = {"sink_weight": np.where(whole > 0.0, 1.0 - share, np.nan), "sink_keys": sinks * 1.0}
    if not block.sinks_judged:
        values["sink_keys"] = np.full_like(share, np.nan)
        if not block.normalizer.has_sink:
            values["sink_weight"] = np.full_like(share, np.nan)
    for name, value in found.items():
        stem = name.removesuffix(DOUBT)
        there = mass > 0.0
        values[name] = np.where(there, value, np.nan)
        values[stem + STAND_FOR] = np.where(there, share, 0.0)
    return values


def keys_for_mass(p: Array) -> tuple[Array, Array]:
    """G4: k90, the smallest k whose k largest weights hold at least .9; and how far it is in doubt.

    The doubt is 0 but for rows whose mass passes .9 by less than single precision can tell.
    """
    held = np.cumsum(-np.sort(-p, axis=1), axis=1)

    def keys(share: float) -> Array:
        return np.asarray((held < share).sum(axis=1) + 1.0)

    low, high = keys(MASS_SHARE - SINGLE_PRECISION), keys(MASS_SHARE + SINGLE_PRECISION)
    return keys(MASS_SHARE - ROUNDING), np.minimum(high, p.shape[1]) - low


def bound_use(block: RowBlock, scaled: Array, logit_range: Array) -> dict[str, Array]:
    """L1: log(n max a) / (max l - min l), of plain softmax; NaN where all logits are equal."""
    use = (np.round(logit_range * TIE_GRID) > 0.0) & (block.normalizer is SOFTMAX)
    width = np.where(use, logit_range, np.nan)
    exponent = np.log(scaled, out=np.full_like(scaled, np.nan), where=use)
    return {"weight_bound_use": exponent / width, "weight_bound_use" + DOUBT: LAST_BITS / width}


def row_values(block: RowBlock) -> dict[str, Array]:
    """Every metric of the group for each row of a block; NaN where a row has none."""
    a, n = block.weights, block.n.astype(np.float64)
    visible = block.visible
    magnitude = np.abs(a)
    total = magnitude.sum(axis=1)
    some = total > 0.0  # rows of mass 0 have no distribution over keys

    def where_some(values: Array) -> Array:
        return np.where(some, values, np.nan)

    p = magnitude / np.where(some, total, 1.0)[:, None]
    ent = where_some(entropy(p))
    log_n = np.log(n)
    keys = np.arange(1, a.shape[1] + 1)
    k90, k90_doubt = keys_for_mass(p)
    lowest = np.where(visible, a, np.inf).min(axis=1)
    highest = np.where(visible, a, -np.inf).max(axis=1)
    distance = (p * np.abs(block.t[:, None] - keys[None, :])).sum(axis=1)
    low_logit = np.where(visible, block.logits, np.inf).min(axis=1)
    logit_range = block.logits.max(axis=1) - low_logit
    values = {
        "mass": a.sum(axis=1),
        "entropy_with_sinks": ent,
        "entropy_normalized_with_sinks": np.divide(ent, log_n, out=np.full_like(ent, np.nan), where=n >= 2),
        "effective_tokens_with_sinks": np.exp(ent),
        "participation_ratio_with_sinks": where_some(1.0 / np.where(some, (p * p).sum(axis=1), 1.0)),
        "max_weight_with_sinks": highest,
        "mass_90_with_sinks": where_some(k90),
        "mass_90_with_sinks" + DOUBT: where_some(k90_doubt),
        "first_weight": a[:, 0],
        "attention_distance_with_sinks": where_some(distance),
        "logit_range": logit_range,
        "scaled_weight_min": n * lowest,
        "scaled_weight_max": n * highest,
        "visible_keys": n,
    }
    whole = np.ones_like(total) if block.normalizer.has_sink else total
    return values | bound_use(block, n * highest, logit_range) | beyond_sinks(block, magnitude, whole)
