"""Which nodes does an expression or statement have?"""

from __future__ import annotations

from typing import Any

import tvm_ffi
from tvm.ir import Var


def nodes_of(root: Any, kind: type) -> list[Any]:
    """All nodes of one kind in TIR or Relax."""
    found: list[Any] = []
    tvm_ffi.structural_walk(root, (kind, found.append))
    return found


def mentions(root: Any, var: Var) -> bool:
    """Whether `var` occurs anywhere in TIR or Relax."""
    return any(found.same_as(var) for found in nodes_of(root, Var))
