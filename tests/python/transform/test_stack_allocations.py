"""Returns, attributes and alignments in PrimFuncs that allocate in the order of a stack."""

from __future__ import annotations

import pytest
from tvm import tirx
from tvm.script import tirx as T

from support.lowered_allocations import lines, lower, main_of
from usmp.analysis.memory.effects import ASYNCHRONOUS_ATTRIBUTES, CONCURRENT_ATTRIBUTES


def lowered(func: tirx.PrimFunc, **options) -> list[str]:
    return lines(lower(main_of(func), **options)["__tvm_main__"])


@T.prim_func
def returning_nothing(x: T.handle("int8"), n: T.int32):
    a = T.alloc_buffer((n,), "int8")
    T.evaluate(T.call_extern("int32", "op", x, a.data))
    if n > 3:
        return 0
    T.evaluate(T.call_extern("int32", "op", a.data, x))


@T.prim_func
def returning_a_status(x: T.handle("int8"), n: T.int32) -> T.int32:
    a = T.alloc_buffer((n,), "int8")
    T.evaluate(T.call_extern("int32", "op", x, a.data))
    if n > 3:
        return n + 1
    T.evaluate(T.call_extern("int32", "op", a.data, x))
    return 0


def returns(func: tirx.PrimFunc) -> list[str]:
    return [line.strip() for line in lowered(func) if line.strip().startswith("return")]


def test_each_return_is_a_status():
    # The allocation fails, n is more than 3, and the end.
    assert returns(returning_nothing) == ["return -3", "return 0", "return 0"]


def test_what_is_returned_is_computed_before_blocks_are_released():
    assert returns(returning_a_status) == ["return -3", "return result", "return 0"]
    found = [line.strip() for line in lowered(returning_a_status)]
    start = found.index("result = n + 1")
    assert found[start + 1 : start + 3] == ["release(a_block)", "return result"]


def with_attribute(key: str) -> tirx.PrimFunc:
    """The program whose body has an attribute."""
    func = returning_nothing
    node = tirx.IntImm("int32", 0)
    return func.with_body(tirx.AttrStmt(node, key, tirx.IntImm("int32", 1), func.body))


@pytest.mark.parametrize("key", [CONCURRENT_ATTRIBUTES[0], ASYNCHRONOUS_ATTRIBUTES[0]])
def test_nothing_is_allocated_where_statements_run_at_once(key):
    with pytest.raises(ValueError, match=f"buffer a has a size .* statement with {key}"):
        lowered(with_attribute(key))


def test_other_attributes_may_be_around_allocations():
    found = lowered(with_attribute("my.note"))
    assert any("allocate" in line for line in found)


def aligned(alignment: int) -> tirx.PrimFunc:
    func = returning_nothing
    first, *others = tirx.stmt_list(func.body)
    buffer = first.buffer
    notes = {**dict(first.annotations), "alignment": alignment}
    return func.with_body(tirx.SeqStmt([tirx.AllocBuffer(buffer, notes), *others]))


@pytest.mark.parametrize(("alignment", "fits"), [(32, True), (64, True), (128, False)])
def test_the_runtime_of_tvm_aligns_to_64_bytes(alignment, fits):
    func = aligned(alignment)
    assert any("allocate" in line for line in lowered(func))
    if fits:
        lowered(func, dynamic="TVMBackendAllocWorkspace")
        return
    with pytest.raises(ValueError, match=r"must be aligned to 128 bytes, .* is aligned to 64"):
        lowered(func, dynamic="TVMBackendAllocWorkspace")
