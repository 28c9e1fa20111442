"""Every kind of trial, and its share of --trials: those that take seconds each are fewer."""

from tests.faults import calls, exports, foreign, inputs, journals, payloads, readers, running, storage

PARTS = (readers, journals, running, storage, payloads, foreign, exports, inputs, calls)
KINDS = {name: kind for part in PARTS for name, kind in part.KINDS.items()}
SHARE = {name: share for part in PARTS for name, share in part.SHARE.items()}
