"""A Monitor for Lightning: Trainer(callbacks=[headgauge.lightning.MonitorCallback(every=100)])."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headgauge.errors import UsageError
from headgauge.monitor import Monitor

if TYPE_CHECKING:
    _Callback = object
else:
    try:
        from lightning.pytorch import Callback as _Callback
    except ImportError:
        from pytorch_lightning import Callback as _Callback


class MonitorCallback(_Callback):
    """Measures the transformers model inside a LightningModule while it trains.

    `model` names the module's attribute with the transformers model, by default the first one
    found. The other options are those of Monitor; `monitor` exists once training has begun. A step
    is an optimizer step. Raises UsageError if the module has no transformers model.
    """

    def __init__(self, model: str | None = None, **options: Any) -> None:
        self._model, self._options = model, options
        self._step = 0
        self.monitor: Monitor | None = None

    def on_train_start(self, trainer: Any, pl_module: Any) -> None:
        self._step = trainer.global_step
        self.monitor = Monitor(_transformer(pl_module, self._model), **self._options)

    def on_train_batch_end(self, trainer: Any, *_: Any) -> None:
        if self.monitor is not None and trainer.global_step != self._step:
            self._step = trainer.global_step
            self.monitor.step(self._step)

    def on_train_end(self, *_: Any) -> None:
        self._close()

    def on_exception(self, *_: Any) -> None:
        self._close()

    def _close(self) -> None:
        if self.monitor is not None:
            self.monitor.close()


def _transformer(module: Any, name: str | None) -> Any:
    if name is not None:
        found = getattr(module, name, None)
        if found is None:
            raise UsageError(
                f"model: expected an attribute of {type(module).__name__} that is a model, found no {name}"
            )
        return found
    for held in module.modules():
        if hasattr(held, "get_input_embeddings") and hasattr(held, "config"):
            return held
    raise UsageError(
        f"{type(module).__name__}: expected a LightningModule that holds a transformers model, found none"
    )
