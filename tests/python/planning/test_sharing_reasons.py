"""Why two buffers of a plan share no more bytes than they do."""

from __future__ import annotations

import pytest
from tvm.ir import IRModule
from tvm.script import ir as I
from tvm.script import tirx as T
from tvm.target import Target

from support.symbolic_models import with_interface
from usmp.analysis.memory.distances import distance_reason as because
from usmp.objects.symbolic_size import SymbolicSize
from usmp.planning import sharing_reasons as reasons
from usmp.planning.options import PlanningOptions
from usmp.planning.plan import Plan
from usmp.planning.session import PlanningSession
from usmp.planning.sharing_reasons import SharingReason, SharingReasons


@I.ir_module
class Model:
    """`a` to `b` row by row, `b` to `c` by a function that nobody knows; `kept` is live always."""

    @T.prim_func(private=True)
    def shift(p: T.handle("int8"), q: T.handle("int8")):
        T.func_attr({"operator_shapes": {"p": [1, 6, 4], "q": [1, 4, 2]}})
        P = T.decl_buffer((24,), "int8", data=p)
        Q = T.decl_buffer((8,), "int8", data=q)
        for i in range(4):
            for j in range(2):
                Q[i * 2 + j] = P[i * 4 + j] + P[T.max(i - 1, 0) * 4 + j]

    @T.prim_func
    def __tvm_main__(x: T.handle("int8"), y: T.handle("int8")):
        a = T.alloc_buffer((24,), "int8")
        b = T.alloc_buffer((8,), "int8")
        c = T.alloc_buffer((40,), "int8")
        other = T.alloc_buffer((12,), "int8")
        kept = T.alloc_buffer((4,), "int8", annotations={"live_throughout": True})
        last = T.alloc_buffer((4,), "int8", annotations={"state_tensor": "last"})
        given = T.alloc_buffer((4,), "int8", annotations={"input_tensor": "given"})
        result = T.alloc_buffer((4,), "int8", annotations={"output_tensor": "result"})
        T.evaluate(T.call_extern("int32", "f", x, a.data, given.data))
        T.evaluate(T.call_extern("int32", "f", x, other.data))
        Model.shift(a.data, b.data)
        T.evaluate(T.call_extern("int32", "f", other.data, b.data, c.data))
        T.evaluate(T.call_extern("int32", "f", c.data, y, result.data, last.data, kept.data))
        T.evaluate(T.call_extern("int32", "f", given.data, result.data, last.data, kept.data))


def reason_of(mod=Model, **options):
    session, options = PlanningSession(), PlanningOptions(**options)
    prepared = session.prepared(mod, options)
    found = session.plan(prepared, options)
    assert isinstance(found, Plan)
    buffers = {str(buffer.name_hint): buffer for buffer in found.buffers}
    known = SharingReasons(session, prepared, found, options)
    return lambda one, other: known.of(buffers[one], buffers[other])


def bound(mod):
    target = Target("c")
    functions = {v: f.with_attr("target", target) for v, f in mod.functions.items()}
    return IRModule(functions, attrs=mod.attrs)


MODEL = bound(Model)


def test_an_operator_that_accesses_both_decides_by_its_order():
    """The second row of b is being written when byte 0 of a is read again."""
    reason = reason_of(MODEL)
    found = reason("a", "b")
    assert found == reason("b", "a")
    assert (found.kind, found.dying, found.written) == (reasons.DISTANCE, "a", "b")
    assert (found.distance, found.size, found.at_largest_sizes) == (2, 8, False)
    assert (found.because.written_end, found.because.first_accessed) == (2, 0)
    assert found.because.functions == ("shift",)
    assert (found.dying_row_bytes, found.written_row_bytes) == (4, 2)


def test_an_unknown_function_may_access_any_byte():
    found = reason_of(MODEL)("b", "c")
    assert (found.kind, found.dying, found.written) == (reasons.DISTANCE, "b", "c")
    assert (found.distance, found.size) == (40, 40)
    assert found.because.kind == because.UNKNOWN_ADDRESS
    assert (found.dying_row_bytes, found.written_row_bytes) == (None, None)


def test_buffers_of_different_operators_must_be_intact():
    found = reason_of(MODEL)("other", "a")
    assert found == SharingReason(reasons.NOT_ONE_OPERATOR, "a", "other", 12, 12)


@pytest.mark.parametrize(
    ("one", "other", "kept"),
    [
        ("kept", "last", ("last", "kept")),
        ("result", "kept", ("result", "kept")),
    ],
)
def test_what_is_kept_is_needed_before_or_after(one, other, kept):
    """An input is needed before it is read, and an output after it was written."""
    found = reason_of(MODEL)(one, other)
    assert (found.kind, set(found.kept)) == (reasons.KEPT, set(kept))
    assert found.distance == found.size == 4


def test_an_output_may_lie_over_an_input_unless_that_is_preserved():
    found = reason_of(MODEL)("given", "result")
    assert (found.kind, found.dying, found.written) == (reasons.DISTANCE, "given", "result")
    found = reason_of(MODEL, preserve_inputs=True)("given", "result")
    assert (found.kind, set(found.kept)) == (reasons.KEPT, {"given", "result"})


@pytest.mark.parametrize("options", [{"overlap": False}, {"algorithm": "no_sharing"}])
def test_without_overlap_nothing_is_shared(options):
    found = reason_of(MODEL, **options)("b", "c")
    assert found == SharingReason(reasons.NO_OVERLAP, "b", "c", 40, 40)


def test_symbolic_sizes_are_the_largest_ones():
    @I.ir_module
    class Symbolic:
        @T.prim_func(private=True)
        def copy(p: T.handle("int8"), q: T.handle("int8"), n: T.int32):
            P = T.decl_buffer((n,), "int8", data=p)
            Q = T.decl_buffer((n,), "int8", data=q)
            for i in range(n):
                Q[i] = P[n - 1 - i]

        @T.prim_func
        def __tvm_main__(x: T.handle("int8"), seq: T.int32):
            a = T.alloc_buffer((seq * 4,), "int8")
            b = T.alloc_buffer((seq * 4,), "int8")
            T.evaluate(T.call_extern("int32", "f", x, a.data))
            Symbolic.copy(a.data, b.data, seq * 4)
            T.evaluate(T.call_extern("int32", "f", x, b.data))

    mod = with_interface(Symbolic, ([], []), [SymbolicSize("seq", 1, 5)])
    found = reason_of(mod)("a", "b")
    assert (found.kind, found.size, found.at_largest_sizes) == (reasons.DISTANCE, 20, True)
    # Of 20 bytes, the last that is read is byte 0, when 19 bytes were written.
    assert found.distance == 19
