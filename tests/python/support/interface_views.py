"""Interfaces of models made by hand: tensors and pools of any names and sizes."""

from __future__ import annotations

import numpy as np
import tvm

from usmp.codegen.c.names import symbol_prefix
from usmp.codegen.interface.accelerator_functions import device_names
from usmp.codegen.interface.entry_interface import EntryInterface, IOTensor
from usmp.codegen.interface.module_interface import Interface
from usmp.codegen.interface.pool_parameter import PoolParameter
from usmp.objects import (
    AllocatedPoolInfo,
    ConstantInfo,
    ConstantPoolInfo,
    PoolAllocation,
    PoolInfoProperties,
    TensorInfo,
    WorkspacePoolInfo,
)


def workspace(name="sram", size_bytes=64, alignment=16, c_name=None, **properties):
    """A workspace pool; external unless `is_internal` is among its properties."""
    info = WorkspacePoolInfo(name, ["c"], PoolInfoProperties(**properties))
    return PoolParameter(AllocatedPoolInfo(info, size_bytes, 0, alignment), c_name or name)


def constants(name="flash", data=(1, 258), at=4, size_bytes=8, alignment=16, **properties):
    """A constant pool that holds `data` as int16 from byte `at` on."""
    infos = [ConstantInfo("x", at, tvm.runtime.tensor(np.array(data, "int16")))]
    info = ConstantPoolInfo(name, ["c"], infos, PoolInfoProperties(**properties))
    return PoolParameter(AllocatedPoolInfo(info, size_bytes, 0, alignment), name)


def tensor(name, shape=(1, 4), dtype="int8", place=None, c_name=None, is_by_rows=False, **info):
    """An input or output; `place` is its `PoolAllocation`, if it lives in the workspace."""
    return IOTensor(TensorInfo(name, list(shape), dtype, **info), c_name or name, place, is_by_rows)


def placed(name, **more):
    """An input or output at the first byte of the workspace pool `sram`."""
    return tensor(name, place=PoolAllocation(workspace().info.pool_info, 0), **more)


def interface(inputs=(), outputs=(), pools=(), name="default", **more):
    """A model of these tensors and pools, whose entry is `main`."""
    preserved = more.pop("preserves_inputs", False)
    main = EntryInterface(
        "main",
        "__tvm_main__",
        symbol_prefix(name),
        list(inputs),
        list(outputs),
        list(pools),
        device_names(more.get("accelerator_functions", ())),
        preserved,
    )
    return Interface(name, [main], list(pools), **more)


def entry(name, inputs=(), outputs=(), pools=(), module_name="default", **more):
    """One of several entries of a model."""
    tensors, prefix = (list(inputs), list(outputs)), f"{symbol_prefix(module_name)}_{name}"
    return EntryInterface(name, f"__tvm_{name}__", prefix, *tensors, list(pools), **more)
