"""Checks of `.pt2` files before PyTorch reads them, so that no code in them runs."""

from usmp.frontend.pytorch.pt2.arithmetic import check_arithmetic
from usmp.frontend.pytorch.pt2.check_archive import checked_archive
from usmp.frontend.pytorch.pt2.trace import Trace

__all__ = ["Trace", "check_arithmetic", "checked_archive"]
