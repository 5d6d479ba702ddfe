"""What a `__tvm_main__` calls, for exact comparison."""

from __future__ import annotations

import tvm_ffi
from tvm import tirx
from tvm.ir import Call, GlobalVar, TensorLoad


def called(main: tirx.PrimFunc) -> list[str]:
    """The functions of the module that it calls, in order, by name."""
    names: list[str] = []
    tvm_ffi.structural_walk(
        main.body,
        (Call, lambda c: names.append(c.op.name_hint) if isinstance(c.op, GlobalVar) else None),
    )
    return names


def views(main: tirx.PrimFunc) -> dict[str, tuple[str, int]]:
    """Views by name: what they lie in, and the element at which they begin."""
    found: dict[str, tuple[str, int]] = {}
    for statement in main.body.seq:
        data = getattr(statement, "data", None)
        if isinstance(statement, tirx.DeclBuffer) and isinstance(data, Call):
            (load,) = data.args
            assert isinstance(load, TensorLoad)
            found[str(statement.buffer.name)] = (str(load.source.name), int(load.indices[0]))
    return found
