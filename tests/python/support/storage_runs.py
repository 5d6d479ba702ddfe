"""Modules that run with the storage that PlanStorage plans, and with that of TVM's own pass."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import tvm
import tvm_ffi
from tvm import relax
from tvm.ir import IRModule

from support.storage_plans import Allocated, allocated, planned
from support.storages import machine_of
from usmp.relax.transform import PlanStorage

STATIC = relax.transform.StaticPlanBlockMemory()


def ramp(*shape: int, dtype: str = "float32") -> np.ndarray:
    """Small integers, the same again and again."""
    return (np.arange(np.prod(shape, dtype=int)).reshape(shape) % 5 - 1).astype(dtype)


def arrays(value: Any) -> list[np.ndarray]:
    """The tensors of a result, which may be a tuple of tuples."""
    if isinstance(value, tvm.runtime.Tensor):
        return [value.numpy()]
    return [each for part in value for each in arrays(part)]


def run_main(machine: relax.VirtualMachine, *shape: int) -> list[np.ndarray]:
    """What `main` makes of random floats of this shape."""
    data = np.random.default_rng(1).standard_normal(shape, np.float32)
    return arrays(machine["main"](tvm.runtime.tensor(data)))


def compare(
    mod: IRModule,
    *calls: tuple[Any, ...],
    function: str = "main",
    sizes: Mapping[str, int] | None = None,
) -> tuple[Allocated, Allocated]:
    """What is allocated with TVM's plan and with ours, which is never more.

    Parameters
    ----------
    mod
        the module as it is when storage is planned.
    calls
        arguments, which are arrays or shapes; results of both are the same bytes.
    function
        which is called.
    sizes
        at which allocations are counted, as in `allocated`.
    """
    plans = [planned(mod, planner) for planner in (STATIC, PlanStorage())]
    if calls:
        machines = [machine_of(plan) for plan in plans]
    for call in calls:
        theirs, ours = (
            arrays(machine[function](*(_argument(each) for each in call))) for machine in machines
        )
        assert [(each.shape, each.tobytes()) for each in ours] == [
            (each.shape, each.tobytes()) for each in theirs
        ]
    theirs, ours = (allocated(plan, sizes) for plan in plans)
    assert ours.total_bytes <= theirs.total_bytes
    assert ours.storages <= theirs.storages
    return theirs, ours


def _argument(value: Any) -> Any:
    return value if isinstance(value, tvm_ffi.Shape) else tvm.runtime.tensor(value)
