"""Operators that write over their arguments do so when nothing reads these any more."""

import numpy as np
import pytest
from tvm import relax
from tvm.ir import IRModule
from tvm.script import ir as I
from tvm.script import tirx as T

from usmp.aot_pipeline import lower_to_aot
from usmp.build_module import build
from usmp.relax.transform.fusion.keep_in_place_operators import in_place_operators

pytestmark = pytest.mark.cc

TYPE = relax.TensorType((4,), "int8")
X = np.array([1, 2, -3, 100], np.int8)


@I.ir_module
class Operators:
    @T.prim_func(private=True, s_tir=True)
    def negate(s: T.Buffer((4,), "int8")):
        for i in range(4):
            with T.sblock("negate"):
                v = T.axis.spatial(4, i)
                s[v] = T.int8(0) - s[v]

    @T.prim_func(private=True, s_tir=True)
    def reverse(s: T.Buffer((4,), "int8")):
        copied = T.sblock_alloc_buffer((4,), "int8")
        for i in range(4):
            with T.sblock("copied"):
                v = T.axis.spatial(4, i)
                copied[v] = s[3 - v]
        for i in range(4):
            with T.sblock("back"):
                v = T.axis.spatial(4, i)
                s[v] = copied[v]

    @T.prim_func(private=True, s_tir=True)
    def add_sum(s: T.Buffer((4,), "int8")):
        """Add the sum of all elements to each, one sum for each element."""
        total = T.sblock_alloc_buffer((4,), "int8")
        for i, j in T.grid(4, 4):
            with T.sblock("total"):
                v, w = T.axis.remap("SR", [i, j])
                with T.init():
                    total[v] = T.int8(0)
                total[v] = total[v] + s[w]
        for i in range(4):
            with T.sblock("added"):
                v = T.axis.spatial(4, i)
                s[v] = s[v] + total[v]


def module(operator, body) -> IRModule:
    """A Relax `main` of one input; `body(builder, in_place, x)` makes the result."""
    builder = relax.BlockBuilder()
    callee = builder.add_func(Operators[operator], operator)

    def in_place(value):
        return builder.emit(relax.op.call_tir_inplace(callee, (value,), [0], TYPE))

    x = relax.Var("x", TYPE)
    with builder.function("main", [x]):
        with builder.dataflow():
            result = builder.emit_output(body(builder, in_place, x))
        builder.emit_func_output(result)
    return builder.get()


def result(mod):
    (value,) = build(mod).run({"x": X}).values()
    return value.tolist()


def test_names():
    mod = module("negate", lambda b, in_place, x: b.emit(relax.op.nn.relu(in_place(x))))
    assert in_place_operators(mod) == {"negate"}
    assert in_place_operators(IRModule({})) == set()


def test_they_are_not_fused():
    """Element-wise operators before, after, and beside it, which reads what it overwrites."""

    def body(b, in_place, x):
        before = b.emit(relax.op.add(x, x))
        negated = in_place(before)
        beside = b.emit(relax.op.nn.relu(before))
        return b.emit(relax.op.add(negated, beside))

    mod = module("negate", body)
    assert "negate" in {v.name_hint for v in lower_to_aot(mod).functions}
    doubled = X + X
    assert result(mod) == (-doubled + np.maximum(doubled, 0)).tolist()


CHANGED = {
    "negate": lambda x: -x,
    "reverse": lambda x: x[::-1],
    "add_sum": lambda x: x + x.sum(dtype=np.int8),
}


@pytest.mark.parametrize("operator", CHANGED)
def test_what_they_read_is_not_overwritten_yet(operator):
    """Scheduling merges no stage that reads with one that writes."""
    mod = module(operator, lambda b, in_place, x: in_place(b.emit(relax.op.add(x, x))))
    assert result(mod) == CHANGED[operator](X + X).tolist()


@pytest.mark.parametrize("operator", CHANGED)
def test_an_input_is_copied_first(operator):
    mod = module(operator, lambda b, in_place, x: b.emit(relax.op.add(in_place(x), x)))
    assert result(mod) == (CHANGED[operator](X) + X).tolist()


def test_a_constant_is_copied_first():
    def body(b, in_place, x):
        constant = relax.const(np.array([1, 2, 3, 4], np.int8))
        return b.emit(relax.op.add(in_place(in_place(constant)), in_place(constant)))

    mod = module("negate", body)
    factory = build(mod)
    for _ in range(2):
        assert next(iter(factory.run({"x": X}).values())).tolist() == [0, 0, 0, 0]
