"""Overlaps of top sets: ties with what is left out, short rows, partners."""

import math
import unittest

import numpy as np

from tests.reference.arrays import Array
from tests.reference.coverage import agreement, clear_top, partners
from tests.reference.rows import RowBlock, row_blocks


def block_of(raised: list[int], length: int = 12, strength: float = 4.0) -> RowBlock:
    """Causal rows over `length` keys, all logits 0 but those of the keys raised."""
    logits = np.zeros((length, length))
    logits[:, raised] = strength
    (block,) = row_blocks(logits, np.arange(1, length + 1), 11)
    return block


def clear_keys(top: tuple[Array, Array], row: int) -> set[int]:
    return set(top[0][row][top[1][row]].tolist())


class ClearTop(unittest.TestCase):
    def test_keys_tied_with_one_left_out_do_not_count(self) -> None:
        self.assertEqual(clear_keys(clear_top(block_of([])), 11), set())
        self.assertEqual(clear_keys(clear_top(block_of([2, 7])), 11), {2, 7})
        # Nine raised, and a tenth by less than single precision resolves.
        logits = np.zeros((12, 12))
        logits[:, :9] = 1.0
        logits[:, 9] = 5e-5
        (block,) = row_blocks(logits, np.arange(1, 13), 11)
        self.assertEqual(clear_keys(clear_top(block), 11), set(range(9)))

    def test_rows_of_ten_keys_or_less_have_none(self) -> None:
        top = clear_top(block_of([0]))
        self.assertEqual([len(clear_keys(top, row)) for row in range(12)], [0] * 10 + [1, 1])


class Partners(unittest.TestCase):
    def test_agreement(self) -> None:
        tops = [clear_top(block_of(keys)) for keys in ([1, 3], [3, 4], [], [])]
        self.assertAlmostEqual(agreement(tops[0], tops[1])[11], 1 / 3)
        self.assertEqual(agreement(tops[2], tops[3])[11], 0.0)
        rows = np.arange(1, 13) > 10
        found = partners(tops, [5, 6, 7, 8], rows)
        self.assertAlmostEqual(found[0].overlap, 1 / 3)
        self.assertEqual([p.head for p in found[:2]], [6, 5])
        self.assertEqual(found[2].overlap, 0.0)
        self.assertTrue(math.isnan(found[2].head))

    def test_as_good_a_partner_is_in_doubt(self) -> None:
        tops = [clear_top(block_of(keys)) for keys in ([1], [1, 2], [1, 3], [1, 2, 3])]
        found = partners(tops, [0, 1, 2, 3], np.arange(1, 13) > 10)
        self.assertEqual([p.doubt for p in found], [math.inf, 0.0, 0.0, math.inf])

    def test_one_head_has_no_partner(self) -> None:
        (found,) = partners([clear_top(block_of([1]))], [3], np.ones(12, dtype=bool))
        self.assertTrue(math.isnan(found.overlap) and math.isnan(found.head))
