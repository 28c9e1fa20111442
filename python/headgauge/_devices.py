"""Copies tensors of a layer to main memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from headgauge._weights import in_main_memory


class HostCopy:
    """One tensor (1, heads, L, d), copied to main memory as float32. From another device only the
    needed rows are copied, head by head, so that the device holds a second copy of at most one
    head. On CUDA the copy runs while this thread continues, until array() waits for it."""

    def __init__(self, tensor: torch.Tensor, rows: list[int] | None = None) -> None:
        """`rows`: the needed rows; None: all. A tensor in main memory keeps all rows."""
        source = tensor[0].detach()
        self._rows: torch.Tensor | None = None
        self._length = source.shape[1]
        self._device = source.device
        if in_main_memory(source):
            self._taken = source.to(torch.float32).contiguous()
            return
        chosen = None
        if rows is not None and len(rows) < self._length:
            self._rows = torch.tensor(rows)
            chosen = self._rows.to(source.device)
        heads, length, width = source.shape
        count = length if chosen is None else len(chosen)
        pinned = source.device.type == "cuda"
        self._taken = torch.empty((heads, count, width), dtype=torch.float32, pin_memory=pinned)
        for head in range(heads):
            part = source[head] if chosen is None else source[head].index_select(0, chosen)
            self._taken[head].copy_(part, non_blocking=True)

    def array(self) -> Any:
        """Returns (heads, L, d); rows that were not copied are 0."""
        if self._device.type == "cuda":
            torch.cuda.current_stream(self._device).synchronize()
        if self._rows is None:
            return self._taken.numpy()
        heads, _, width = self._taken.shape
        whole = np.zeros((heads, self._length, width), dtype=np.float32)  # unused pages take no memory
        whole[:, self._rows.numpy()] = self._taken.numpy()
        return whole
