"""What a `__tvm_main__` calls, for exact comparison."""

from __future__ import annotations

import tvm_ffi
from tvm import tirx
from tvm.ir import Call, GlobalVar


def called(main: tirx.PrimFunc) -> list[str]:
    """The functions of the module that it calls, in order, by name."""
    names: list[str] = []
    tvm_ffi.structural_walk(
        main.body,
        (Call, lambda c: names.append(c.op.name_hint) if isinstance(c.op, GlobalVar) else None),
    )
    return names
