"""What may overlap in an operator, and which tensors it takes that do not begin at pointers."""

from __future__ import annotations

from functools import cache

import pytest
from tvm.ir import IRModule
from tvm.script import ir as I
from tvm.script import tirx as T

from usmp.relax.storage.operator_memory import OperatorMemory, OperatorOverlap


def overlaps(mod: IRModule) -> dict[str, OperatorOverlap | None]:
    """What the first two buffers of each function may share."""
    return {str(v.name_hint): OperatorMemory(f).overlap(0, 1) for v, f in mod.functions.items()}


def offsets_taken(mod: IRModule, count: int) -> dict[str, tuple[bool, ...]]:
    """Whether the first buffers of each function may begin elsewhere than at their pointers."""
    operators = {str(v.name_hint): OperatorMemory(f) for v, f in mod.functions.items()}
    return {n: tuple(map(each.takes_offset, range(count))) for n, each in operators.items()}


@cache
def serial():
    @I.ir_module
    class Serial:
        @T.prim_func(s_tir=True)
        def elementwise(x: T.Buffer((64,), "float32"), y: T.Buffer((64,), "float32")):
            for i in range(64):
                with T.sblock("b"):
                    v = T.axis.spatial(64, i)
                    y[v] = x[v] + T.float32(1)

        @T.prim_func(s_tir=True)
        def two_passes(x: T.Buffer((64,), "float32"), y: T.Buffer((64,), "float32")):
            total = T.sblock_alloc_buffer((1,), "float32")
            for i in range(64):
                with T.sblock("sum"):
                    v = T.axis.reduce(64, i)
                    with T.init():
                        total[0] = T.float32(0)
                    total[0] = total[0] + x[v]
            for i in range(64):
                with T.sblock("divide"):
                    v = T.axis.spatial(64, i)
                    y[v] = x[v] / total[0]

        @T.prim_func(s_tir=True)
        def reversal(x: T.Buffer((64,), "float32"), y: T.Buffer((64,), "float32")):
            for i in range(64):
                with T.sblock("b"):
                    v = T.axis.spatial(64, i)
                    y[v] = x[63 - v]

        @T.prim_func(s_tir=True)
        def looks_ahead(x: T.Buffer((66,), "float32"), y: T.Buffer((64,), "float32")):
            for i in range(64):
                with T.sblock("b"):
                    v = T.axis.spatial(64, i)
                    y[v] = x[v] + x[v + 1] + x[v + 2]

        @T.prim_func(s_tir=True)
        def looks_back(x: T.Buffer((66,), "float32"), y: T.Buffer((66,), "float32")):
            for i in range(64):
                with T.sblock("b"):
                    v = T.axis.spatial(64, i)
                    y[v + 2] = x[v] + x[v + 2]

        @T.prim_func(s_tir=True)
        def reads_again(x: T.Buffer((64,), "float32"), y: T.Buffer((64,), "float32")):
            for i in range(64):
                with T.sblock("b"):
                    v = T.axis.spatial(64, i)
                    y[v] = x[v] + T.float32(1)
            for i in range(64):
                with T.sblock("c"):
                    v = T.axis.spatial(64, i)
                    y[v] = y[v] + x[v]

        @T.prim_func(s_tir=True)
        def transposition(x: T.Buffer((8, 8), "float32"), y: T.Buffer((8, 8), "float32")):
            for i, j in T.grid(8, 8):
                with T.sblock("b"):
                    v, w = T.axis.remap("SS", [i, j])
                    y[v, w] = x[w, v]

        @T.prim_func(s_tir=True)
        def row_sums(x: T.Buffer((8, 8), "float32"), y: T.Buffer((8,), "float32")):
            for i, j in T.grid(8, 8):
                with T.sblock("b"):
                    v, w = T.axis.remap("SR", [i, j])
                    with T.init():
                        y[v] = T.float32(0)
                    y[v] = y[v] + x[v, w]

        @T.prim_func(s_tir=True)
        def other_type(x: T.Buffer((64,), "int32"), y: T.Buffer((64,), "float32")):
            for i in range(64):
                with T.sblock("b"):
                    v = T.axis.spatial(64, i)
                    y[v] = T.Cast("float32", x[v])

    return Serial


@pytest.mark.parametrize(
    ("name", "distance"),
    [
        ("elementwise", 0),
        ("two_passes", 0),
        ("reversal", 256 - 4),
        ("looks_ahead", 0),
        # When y[v + 2] is written, x[v + 1] is the next that is read.
        ("looks_back", 12 - 4),
        ("reads_again", 256),
        # When seven rows are written, the last element of the first is the next that is read.
        ("transposition", 7 * 32 - 28),
    ],
)
def test_serial_loops_are_read_in_their_order(name, distance):
    found = OperatorMemory(serial()[name]).overlap(0, 1)
    assert found is not None and (found.distance, found.is_exact) == (distance, False)


def test_sums_that_are_kept_in_the_output():
    # The first 0 is written before anything is read.
    assert overlaps(serial())["row_sums"] == OperatorOverlap(4, False, True)


def test_elements_of_another_type_share_nothing():
    assert overlaps(serial())["other_type"] is None


@cache
def any_order():
    @I.ir_module
    class AnyOrder:
        @T.prim_func(s_tir=True)
        def parallel(x: T.Buffer((64,), "float32"), y: T.Buffer((64,), "float32")):
            for i in T.parallel(64):
                with T.sblock("b"):
                    v = T.axis.spatial(64, i)
                    y[v] = x[v] + T.float32(1)

        @T.prim_func(s_tir=True)
        def vectorized(x: T.Buffer((8, 8), "float32"), y: T.Buffer((64,), "float32")):
            for i in range(8):
                for j in T.vectorized(8):
                    with T.sblock("b"):
                        v, w = T.axis.remap("SS", [i, j])
                        y[v * 8 + w] = x[v, w] + T.float32(1)

        @T.prim_func(s_tir=True)
        def threads(x: T.Buffer((1000,), "float32"), y: T.Buffer((1000,), "float32")):
            for b in T.thread_binding(4, thread="blockIdx.x"):
                for t in T.thread_binding(64, thread="threadIdx.x"):
                    for u in T.vectorized(4):
                        with T.sblock("b"):
                            T.where(b * 256 + t * 4 + u < 1000)
                            v = T.axis.spatial(1000, b * 256 + t * 4 + u)
                            y[v] = x[v] + T.float32(1)

        @T.prim_func(s_tir=True)
        def symbolic(p: T.handle, q: T.handle):
            n = T.int64()
            x = T.match_buffer(p, (n, T.int64(16)), "float32")
            y = T.match_buffer(q, (n, T.int64(16)), "float32")
            for i, j in T.grid(n, T.int64(16)):
                with T.sblock("b"):
                    v, w = T.axis.remap("SS", [i, j])
                    y[v, w] = x[v, w] + T.float32(1)

        @T.prim_func(s_tir=True)
        def symbolic_parts(p: T.handle, q: T.handle):
            n = T.int64()
            x = T.match_buffer(p, (n,), "float32")
            y = T.match_buffer(q, (n,), "float32")
            kept = T.sblock_alloc_buffer((n,), "float32")
            for i in range(n):
                with T.sblock("b"):
                    v = T.axis.spatial(n, i)
                    kept[v] = x[n - T.int64(1) - v]
            for i in range(n):
                with T.sblock("c"):
                    v = T.axis.spatial(n, i)
                    y[v] = kept[v]

    return AnyOrder


def test_the_same_element_in_one_iteration():
    found = overlaps(any_order())
    assert found and found == dict.fromkeys(found, OperatorOverlap(0, is_exact=True))


@cache
def unsafe():
    @I.ir_module
    class Unsafe:
        @T.prim_func(s_tir=True)
        def reversal(x: T.Buffer((64,), "float32"), y: T.Buffer((64,), "float32")):
            for i in T.parallel(64):
                with T.sblock("b"):
                    v = T.axis.spatial(64, i)
                    y[v] = x[63 - v]

        @T.prim_func(s_tir=True)
        def stencil(x: T.Buffer((66,), "float32"), y: T.Buffer((64,), "float32")):
            for i in T.parallel(64):
                with T.sblock("b"):
                    v = T.axis.spatial(64, i)
                    y[v] = x[v] + x[v + 1]

        @T.prim_func(s_tir=True)
        def one_for_all(x: T.Buffer((64,), "float32"), y: T.Buffer((64,), "float32")):
            for i in T.parallel(64):
                with T.sblock("b"):
                    v = T.axis.spatial(64, i)
                    y[v] = x[v] + x[0]

        @T.prim_func(s_tir=True)
        def reads_again(x: T.Buffer((64,), "float32"), y: T.Buffer((64,), "float32")):
            for i in T.parallel(64):
                y[i] = x[i] + T.float32(1)
                y[i] = y[i] + x[i]

        @T.prim_func(s_tir=True)
        def transposition(x: T.Buffer((8, 8), "float32"), y: T.Buffer((8, 8), "float32")):
            for i in T.parallel(8):
                for j in range(8):
                    with T.sblock("b"):
                        v, w = T.axis.remap("SS", [i, j])
                        y[v, w] = x[w, v]

        @T.prim_func(s_tir=True)
        def sums(x: T.Buffer((8, 8), "float32"), y: T.Buffer((8, 8), "float32")):
            for i in T.parallel(8):
                for j, k in T.grid(8, 8):
                    with T.sblock("b"):
                        v, w, u = T.axis.remap("SSR", [i, j, k])
                        with T.init():
                            y[v, w] = T.float32(0)
                        y[v, w] = y[v, w] + x[v, u]

        @T.prim_func(s_tir=True)
        def element_of_two_threads(x: T.Buffer((64,), "float32"), y: T.Buffer((64,), "float32")):
            for b in T.thread_binding(8, thread="blockIdx.x"):
                for t in T.thread_binding(16, thread="threadIdx.x"):
                    y[b * 8 + t % 8] = x[b * 8 + t % 8] + T.float32(1)

        @T.prim_func(s_tir=True)
        def parts_without_a_barrier(x: T.Buffer((64,), "float32"), y: T.Buffer((64,), "float32")):
            kept = T.alloc_buffer((64,), "float32")
            for t in T.thread_binding(64, thread="threadIdx.x"):
                kept[t] = x[63 - t]
            for t in T.thread_binding(64, thread="threadIdx.x"):
                y[t] = kept[t]

        @T.prim_func(s_tir=True)
        def bound_that_is_read_again(x: T.Buffer((64,), "int32"), y: T.Buffer((64,), "int32")):
            for i in T.parallel(64):
                for j in range(x[i]):
                    y[i] = 1 - j

        @T.prim_func(s_tir=True)
        def bound_of_a_serial_loop(x: T.Buffer((64,), "int32"), y: T.Buffer((64,), "int32")):
            for i in range(64):
                for j in range(x[i]):
                    y[i] = 1 - j

        @T.prim_func(s_tir=True)
        def view_in_a_kernel(x: T.Buffer((8, 8), "float32"), y: T.Buffer((64,), "float32")):
            for t in T.thread_binding(64, thread="threadIdx.x"):
                y[t] = x[t // 8, t % 8] + T.float32(1)

        @T.prim_func(s_tir=True)
        def pipelined(x: T.Buffer((64,), "float32"), y: T.Buffer((64,), "float32")):
            for i in T.serial(
                64,
                annotations={
                    "software_pipeline_stage": [0, 1],
                    "software_pipeline_order": [0, 1],
                },
            ):
                with T.sblock("b"):
                    v = T.axis.spatial(64, i)
                    y[v] = x[v] + T.float32(1)

        @T.prim_func(s_tir=True)
        def symbolic_stencil(p: T.handle, q: T.handle):
            n = T.int64()
            x = T.match_buffer(p, (n,), "float32")
            y = T.match_buffer(q, (n,), "float32")
            for i in range(n - T.int64(1)):
                with T.sblock("b"):
                    v = T.axis.spatial(n - T.int64(1), i)
                    y[v] = x[v] + x[v + T.int64(1)]

        @T.prim_func(s_tir=True)
        def atomic(x: T.Buffer((64,), "float32"), y: T.Buffer((64,), "float32")):
            for i in T.parallel(64):
                y[i] = x[i]
                T.evaluate(T.call_extern("int32", "note", T.address_of(x[i])))

    return Unsafe


@pytest.mark.slow
def test_what_depends_on_the_order_or_may_do_so():
    found = overlaps(unsafe())
    assert found and found == dict.fromkeys(found, None)


@cache
def pointers():
    @I.ir_module
    class Pointers:
        @T.prim_func(s_tir=True)
        def passed(x: T.Buffer((64,), "float32"), y: T.Buffer((64,), "float32")):
            T.evaluate(T.call_extern("int32", "copy", x.data, T.int32(0)))
            for i in range(64):
                y[i] = T.float32(0)

        @T.prim_func(s_tir=True)
        def element(x: T.Buffer((64,), "float32"), y: T.Buffer((64,), "float32")):
            T.evaluate(T.call_extern("int32", "copy", T.address_of(x[3])))
            for i in range(64):
                y[i] = T.float32(0)

        @T.prim_func(s_tir=True)
        def array(x: T.Buffer((64,), "float32"), y: T.Buffer((64,), "float32")):
            T.evaluate(
                T.call_packed(
                    "sort",
                    T.tvm_stack_make_array(
                        x.data,
                        T.tvm_stack_make_shape(64, dtype="handle"),
                        0,
                        1,
                        T.float32(0),
                        0,
                        dtype="handle",
                    ),
                )
            )
            for i in range(64):
                y[i] = T.float32(0)

    return Pointers


@pytest.mark.slow
def test_a_buffer_of_which_a_pointer_is_passed_begins_there():
    found = offsets_taken(pointers(), 3)
    assert found and found == dict.fromkeys(found, (False, True, False))


@cache
def beginnings():
    @I.ir_module
    class Beginnings:
        @T.prim_func(s_tir=True)
        def told(p: T.handle, q: T.handle):
            first = T.int64()
            x = T.match_buffer(p, (64,), "float32", elem_offset=first, offset_factor=64)
            y = T.match_buffer(q, (64,), "float32")
            for i in range(64):
                y[i] = x[i]

        @T.prim_func(s_tir=True)
        def aligned(p: T.handle, q: T.handle):
            x = T.match_buffer(p, (64,), "float32", align=128)
            y = T.match_buffer(q, (64,), "float32")
            for i in range(64):
                y[i] = x[i]

        @T.prim_func(s_tir=True)
        def matched(x: T.Buffer((8, 8), "float32"), y: T.Buffer((8, 8), "float32")):
            for i in range(8):
                with T.sblock("b"):
                    v = T.axis.spatial(8, i)
                    T.reads(x[0:8, 0:8])
                    T.writes(y[v, 0:8])
                    part = T.match_buffer(x[0:8, 0:8], (8, 8))
                    for j in range(8):
                        y[v, j] = part[j, v]

    return Beginnings


def test_a_buffer_whose_beginning_is_said_otherwise_stays_there():
    found = offsets_taken(beginnings(), 2)
    assert found and found == dict.fromkeys(found, (False, True))


def test_an_operator_that_others_call_stays_as_it_is():
    operator = OperatorMemory(serial()["elementwise"], is_called_by_others=True)
    assert [operator.takes_offset(index) for index in range(2)] == [False, False]
    assert operator.overlap(0, 1) is None
