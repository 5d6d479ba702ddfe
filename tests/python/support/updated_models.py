"""A Relax model that updates one of its inputs, and the same in numpy."""

from __future__ import annotations

import numpy as np
from tvm import relax
from tvm.ir import GlobalVar, IRModule

from usmp.objects.state_info import StateInfo, updated_input

SHAPE = (3, 4)


def updating_model(entries: tuple[str, ...] = ("main",), **changes: object) -> IRModule:
    """Each entry takes x and cache: float32[3, 4], gives y = 2 cache + x, and adds y to cache.

    Parameters
    ----------
    entries
        names of the functions.
    changes
        other values of the fields of the cache's `StateInfo`.
    """
    functions = {}
    for entry in entries:
        builder = relax.BlockBuilder()
        x, cache = (relax.Var(n, relax.TensorType(SHAPE, "float32")) for n in ("x", "cache"))
        with builder.function("main", [x, cache]):
            with builder.dataflow():
                twice = builder.emit(relax.op.multiply(cache, relax.const(2.0)))
                y = builder.emit(relax.op.add(twice, x))
                after = builder.emit(relax.op.add(cache, y))
                outputs = [builder.emit_output(each) for each in (y, after)]
            builder.emit_func_output(relax.Tuple(outputs))
        state = updated_input("cache", 1, "float32")
        fields = {n: getattr(state, n) for n in ("name", "output", "initial_value", "is_input")}
        states = [StateInfo(**{**fields, **changes})]
        attrs = {"states": states, "output_names": ["y"], "global_symbol": entry}
        functions[GlobalVar(entry)] = builder.get()["main"].with_attrs(attrs)
    return IRModule(functions)


def updated(x: np.ndarray, cache: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The output y, and what becomes of the cache."""
    y = (cache * np.float32(2) + x).astype(np.float32)
    return y, cache + y
