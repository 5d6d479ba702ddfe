"""Programs of PyTorch are decomposed without what PyTorch does anew each time.

It overrides some hundred operators for ten thousands of dispatch keys, whatever the program is.
"""

from __future__ import annotations

import sys
import typing
from collections.abc import Callable
from functools import wraps


def use() -> None:
    """Do from now on, if PyTorch is loaded."""
    if "torch.export" not in sys.modules:
        return
    import torch._export.utils as utils
    import torch._ops as ops

    # The function that registers each of them has annotations, which are computed when it is made;
    # `typing` keeps what it made of equal ones.
    if hasattr(ops, "Callable"):
        ops.Callable = typing.Callable
    name = "_materialize_cpp_cia_ops"
    function = getattr(utils, name, None)
    if function is not None and not hasattr(function, "__wrapped__"):
        setattr(utils, name, _once_for_libraries(function, ops))


def _once_for_libraries(function: Callable[[], None], ops: typing.Any) -> Callable[[], None]:
    """The function that makes objects of all operators, but if those of no library are new."""
    loaded: set[str] | None = None

    @wraps(function)
    def called() -> None:
        nonlocal loaded
        libraries = set(ops.ops.loaded_libraries)
        if libraries != loaded:
            function()
            loaded = libraries

    return called
