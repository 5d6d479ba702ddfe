"""What is done when this package has loaded TVM."""

from __future__ import annotations

from collections.abc import Callable

CALLBACKS: list[Callable[[], None]] = []
"""Called by `usmp._ffi`, which loads TVM and the C++ library."""
