"""An array of numpy, whatever it holds."""

from typing import Any

import numpy.typing as npt

Array = npt.NDArray[Any]
