"""Global functions of TVM 0.18 do what the functions of today do that they are mapped to."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pkgutil import resolve_name
from typing import Any

import numpy as np
import pytest
import tvm
from tvm import tirx
from tvm.ir.transform import PassContext
from tvm.script import tirx as T

import usmp
import usmp.analysis
import usmp.transform
from support.tvm_operators import module
from usmp.objects.attributes.module_attributes import MAIN_FUNCTION_NAME, POOL_ARGS_ATTR
from usmp.registration import register
from usmp.tvm018 import GLOBAL_FUNCTIONS, IMPORT_PATHS, MAPPED, REFUSED, find

POOL = usmp.WorkspacePoolInfo("sram", ["c"], usmp.PoolInfoProperties(size_hint_bytes=4096))
FLASH = usmp.ConstantPoolInfo("flash", ["c"])
HELD = [usmp.BufferInfo(name, 64, [POOL], 8) for name in ("a", "b")]
"""Kept alive for those that they conflict with."""


@T.prim_func
def twice(x: T.Buffer((64,), "int8"), y: T.Buffer((64,), "int8")):
    both = T.alloc_buffer((64,), "int8")
    for i in T.parallel(64):
        both[i] = x[i] * T.int8(2)
    for i in range(64):
        y[i] = both[i]


@T.prim_func
def main(x: T.Buffer((64,), "int8"), y: T.Buffer((64,), "int8")):
    between = T.alloc_buffer((64,), "int8")
    T.call_extern("int32", "twice", x.data, between.data)
    T.call_extern("int32", "twice", between.data, y.data)


MODULE = tirx.transform.BindTarget(tvm.target.Target("c"))(module(main, {"twice": twice}))


@cache
def assigned() -> tvm.IRModule:
    """The module with candidate pools; one object, since plans are by its statements."""
    return usmp.transform.AssignPoolInfo()(MODULE)


def analyzed() -> usmp.BufferInfoAnalysis:
    return usmp.analysis.extract_buffer_info(assigned()[MAIN_FUNCTION_NAME], assigned())


@cache
def placed() -> tuple[Any, Any]:
    """The statement and the place of each buffer."""
    buffers = analyzed().buffer_info_stmts
    return buffers, tvm.get_global_func("tir.usmp.algo.greedy_by_size")(list(buffers), 0)


def constant() -> usmp.ConstantInfo:
    return usmp.ConstantInfo("w", 0, tvm.runtime.tensor(np.arange(4, dtype="int8")))


ARGUMENTS: dict[str, Callable[[], tuple[Any, ...]]] = {
    "tir.transform.UnifiedStaticMemoryPlanner": tuple,
    "tir.transform.ConvertForLoopsToSerial": tuple,
    "tir.usmp.transform.AssignPoolInfo": tuple,
    "tir.usmp.transform.CreateAllocatesForIO": tuple,
    "tir.usmp.transform.ConvertPoolAllocationsToOffsets": lambda: (
        usmp.analysis.assign_stmt_pool_allocations(*placed()),
        True,
    ),
    "tir.usmp.analysis.extract_buffer_info": lambda: (assigned()[MAIN_FUNCTION_NAME], assigned()),
    "tir.usmp.CreateArrayBufferInfo": lambda: (placed()[0],),
    "tir.usmp.AssignStmtPoolAllocations": placed,
    "tir.usmp.BufferInfo": lambda: ("a", 10, [POOL], None),
    "tir.usmp.BufferInfoSetConflicts": lambda: (HELD[0], [HELD[1]]),
    "tir.usmp.BufferInfoAnalysis": lambda: (placed()[0], 128),
    "tir.usmp.PoolAllocation": lambda: (POOL, 8),
    "tir.analysis.calculate_workspace_bytes": lambda: (MODULE["twice"], 128),
    "tir.analysis.calculate_constant_bytes": lambda: (MODULE["twice"], 16),
    "ir.PoolInfoProperties": lambda: (64, 1, 2, 3, 4, 5, {tvm.target.Target("c"): 6}),
    "ir.WorkspacePoolInfo": lambda: ("sram", [tvm.target.Target("c")], usmp.PoolInfoProperties(7)),
    "ir.ConstantPoolInfo": lambda: (
        "flash",
        [tvm.target.Target("c")],
        [constant()],
        usmp.PoolInfoProperties(7),
    ),
    "ir.ConstantInfo": lambda: ("w", 4, constant().data),
    "ir.WorkspaceMemoryPools": lambda: ([POOL],),
    "ir.ConstantMemoryPools": lambda: ([FLASH],),
    "ir.AllocatedPoolInfo": lambda: (POOL, 32, 1),
}
"""What TVM 0.18 called each of them with."""


def outcome(function: Callable[..., Any], arguments: tuple[Any, ...]) -> str:
    """What the function gives, as a text that can be compared."""
    result = function(*arguments)
    if isinstance(result, tvm.transform.Pass):
        return str(result(assigned() if arguments else MODULE))
    if result is None:
        return str(list(arguments[0].conflicts))
    if isinstance(result, Mapping):
        return str(dict(result.items()))
    return str(list(result)) if isinstance(result, Sequence) else str(result)


def test_every_function_that_is_mapped_is_tried():
    mapped = [row.name for row in GLOBAL_FUNCTIONS if row.verdict == MAPPED]
    assert sorted(mapped) == sorted(ARGUMENTS)


@pytest.mark.parametrize("name", ARGUMENTS)
def test_a_function_does_what_that_of_today_does(name):
    row = find(GLOBAL_FUNCTIONS, name)
    arguments = ARGUMENTS[name]()
    by_old_name = outcome(tvm.get_global_func(name), arguments)
    assert by_old_name == outcome(resolve_name(row.to[0]), arguments)
    assert by_old_name not in ("", "None", "[]", "{}")


def test_a_conflict_is_set():
    one, other = (usmp.BufferInfo(name, 64, [POOL], 8) for name in ("one", "other"))
    tvm.get_global_func("tir.usmp.BufferInfoSetConflicts")(one, [other])
    assert list(one.conflicts) == [other]


def test_the_planner_by_its_old_names_alone():
    """As TVM 0.18's own tests called it."""
    function = tvm.get_global_func
    mod = function("tir.usmp.transform.AssignPoolInfo")()(MODULE)
    analysis = function("tir.usmp.analysis.extract_buffer_info")(mod[MAIN_FUNCTION_NAME], mod)
    buffers = function("tir.usmp.CreateArrayBufferInfo")(analysis.buffer_info_stmts)
    plan = function("tir.usmp.algo.greedy_by_size")(buffers, analysis.memory_pressure)
    allocations = function("tir.usmp.AssignStmtPoolAllocations")(analysis.buffer_info_stmts, plan)
    convert = function("tir.usmp.transform.ConvertPoolAllocationsToOffsets")
    assert "alloc_buffer" in mod.script()
    assert "alloc_buffer" not in convert(allocations, True)(mod).script()
    planned = function("tir.transform.UnifiedStaticMemoryPlanner")()(MODULE)
    assert [int(pool.allocated_size) for pool in planned.attrs[POOL_ARGS_ATTR.name]] == [128]


def test_functions_that_are_refused_say_why():
    refused = [row for row in GLOBAL_FUNCTIONS if row.verdict == REFUSED]
    assert refused
    for row in refused:
        with pytest.raises(RuntimeError, match=re.escape(row.sentence())):
            tvm.get_global_func(row.name)("anything", 1)


def test_functions_that_are_there_stay():
    name = "tir.usmp.BufferInfo"
    own = tvm.get_global_func(name)
    try:
        tvm.register_global_func(name, lambda: "of another package", override=True)
        register()
        assert tvm.get_global_func(name)() == "of another package"
    finally:
        tvm.register_global_func(name, own, override=True)
    register()
    assert tvm.get_global_func(name)("a", 1, [POOL], 2).alignment == 2


@pytest.mark.parametrize("row", IMPORT_PATHS, ids=lambda row: row.name)
def test_what_takes_the_place_of_a_package_can_be_imported(row):
    assert row.verdict == MAPPED
    with pytest.raises((AttributeError, ModuleNotFoundError)):
        resolve_name(row.name)
    assert resolve_name(row.to[0]) is not None
    assert row.to[0] in row.reason


def test_names_of_tvms_utils_are_names_of_the_package():
    assert usmp.CANDIDATE_MEMORY_POOL_ATTR == "candidate_memory_pools"
    assert not usmp.use_workspace_io_is_enabled()
    with PassContext(config={"tir.usmp.use_workspace_io": True}):
        assert usmp.use_workspace_io_is_enabled()
