"""Loops and choices in TIR run the lowered bodies: what they compute, step by step."""

from __future__ import annotations

import numpy as np
import pytest
from tvm import relax
from tvm.ir import IRModule
from tvm.script import ir as I
from tvm.script import tirx as T

from support.tir_interpreter import Interpreter
from support.tir_memory import Pointer
from usmp.aot.control_flow import with_carried_tensors
from usmp.aot.transform import LowerControlFlow
from usmp.ops.control_flow import ControlFlow, call_control_flow

ROW, ONE = relax.TensorType([2], "int8"), relax.TensorType([1], "int64")
FLAG = relax.TensorType([1], "bool")


@I.ir_module
class Operators:
    @T.prim_func(private=True)
    def add(a_ptr: T.handle("int8"), b_ptr: T.handle("int8"), to_ptr: T.handle("int8")):
        a = T.decl_buffer((2,), "int8", data=a_ptr)
        b = T.decl_buffer((2,), "int8", data=b_ptr)
        to = T.decl_buffer((2,), "int8", data=to_ptr)
        for i in range(2):
            to[i] = a[i] + b[i]

    @T.prim_func(private=True)
    def swap(a_ptr: T.handle("int8"), to_ptr: T.handle("int8")):
        a = T.decl_buffer((2,), "int8", data=a_ptr)
        to = T.decl_buffer((2,), "int8", data=to_ptr)
        for i in range(2):
            to[i] = a[1 - i]

    @T.prim_func(private=True)
    def add_number(n_ptr: T.handle("int64"), b_ptr: T.handle("int8"), to_ptr: T.handle("int8")):
        n = T.decl_buffer((1,), "int64", data=n_ptr)
        b = T.decl_buffer((2,), "int8", data=b_ptr)
        to = T.decl_buffer((2,), "int8", data=to_ptr)
        for i in range(2):
            to[i] = T.cast(n[0], "int8") + b[i]

    @T.prim_func(private=True)
    def less(a_ptr: T.handle("int8"), b_ptr: T.handle("int8"), to_ptr: T.handle("bool")):
        a = T.decl_buffer((2,), "int8", data=a_ptr)
        b = T.decl_buffer((2,), "int8", data=b_ptr)
        to = T.decl_buffer((1,), "bool", data=to_ptr)
        to[0] = a[0] < b[0]


def body(make, **params: relax.TensorType) -> IRModule:
    """A module whose `main` has what `make` of a function that calls operators returns."""
    builder = relax.BlockBuilder(Operators)

    def call(name: str, *arguments: relax.Expr, ty: relax.TensorType = ROW) -> relax.Var:
        callee = builder.get().get_global_var(name)
        return builder.emit(relax.call_tir(callee, relax.Tuple(list(arguments)), ty))

    given = [relax.Var(name, ty) for name, ty in params.items()]
    with builder.function("main", given):
        with builder.dataflow():
            results = [builder.emit_output(each) for each in make(call, *given)]
        builder.emit_func_output(relax.Tuple(results) if len(results) > 1 else results[0])
    mod = builder.get()
    used = {
        "main",
        *(
            b.value.args[0].name_hint
            for b in mod["main"].body.blocks[0].bindings
            if isinstance(b.value, relax.Call)
        ),
    }
    return IRModule({v: f for v, f in mod.functions.items() if v.name_hint in used})


def run(flow: ControlFlow, arrays, results=()) -> list[list]:
    """What the arguments and results hold after the lowered flow has run."""
    builder = relax.BlockBuilder()
    types = [relax.TensorType(each.shape, str(each.dtype)) for each in arrays]
    given = [relax.Var(f"x{index}", ty) for index, ty in enumerate(types)]
    with builder.function("main", given):
        with builder.dataflow():
            made = call_control_flow(builder, "flow", flow, given, results)
            outputs = [builder.emit_output(each) for each in made]
        builder.emit_func_output(relax.Tuple(outputs))
    lowered = LowerControlFlow()(builder.get())
    shapes = [*arrays, *(np.zeros([int(n) for n in ty.shape], str(ty.dtype)) for ty in results)]
    memories = [list(each.tobytes()) for each in shapes]
    for memory in memories[len(arrays) :]:
        memory[:] = [None] * len(memory)
    Interpreter(lowered).call("flow", list(map(Pointer, memories)))
    return [
        np.frombuffer(bytes(memory), each.dtype).reshape(each.shape).tolist()
        for memory, each in zip(memories, shapes, strict=True)
    ]


def int8(*values) -> np.ndarray:
    return np.array(values, np.int8)


@pytest.mark.parametrize(("condition", "expected"), [(True, [5, 8]), (False, [7, 2])])
def test_a_choice_runs_one_of_its_bodies(condition, expected):
    bodies = (
        body(lambda call, a, b: [call("add", a, b)], a=ROW, b=ROW),
        body(lambda call, a, b: [call("swap", a)], a=ROW, b=ROW),
    )
    arrays = [np.array([condition]), int8(2, 7), int8(3, 1)]
    assert run(ControlFlow(bodies), arrays, [ROW])[3] == expected


@pytest.mark.parametrize(
    ("start", "expected"), [([1, 1], [10, 4]), ([9, 0], [12, 1]), ([10, 5], [10, 5])]
)
def test_a_loop_runs_as_long_as_its_condition_is_true(start, expected):
    """Until the first element of the carried tensor is that of the limit."""
    flow = ControlFlow(
        (
            body(lambda call, t, b, end: [call("less", t, end, ty=FLAG)], t=ROW, b=ROW, end=ROW),
            body(lambda call, s, by, end: [call("add", s, by)], s=ROW, by=ROW, end=ROW),
        ),
        trips=-1,
        carried=1,
    )
    found = run(flow, [int8(*start), int8(3, 1), int8(10, 0)])
    assert found == [expected, [3, 1], [10, 0]]


def test_carried_tensors_may_change_places():
    flow = ControlFlow(
        (body(lambda call, a, b: [b, call("add", a, b)], a=ROW, b=ROW),), trips=5, carried=2
    )
    assert run(flow, [int8(0, 1), int8(1, 1)]) == [[5, 8], [8, 13]]


def test_iterations_take_rows_and_write_rows():
    """Row `t` of the result is what is carried after row `t` of both scanned tensors, and `by`."""

    def make(call, carried, x, z, by):
        total = call("add", carried, call("add", x, call("swap", z)))
        return [total, call("add", total, by), call("swap", x)]

    flow = ControlFlow(
        (body(make, carried=ROW, x=ROW, z=ROW, by=ROW),), trips=3, carried=1, scanned=2
    )
    x, z = int8([1, 2], [3, 4], [5, 6]), int8([10, 0], [0, 20], [1, 2])
    rows = relax.TensorType([3, 2], "int8")
    found = run(flow, [int8(0, 1), x, z, int8(100, 50)], [rows, rows])
    assert found[0] == [31, 24]
    assert found[4] == [[101, 63], [124, 67], [131 - 256, 74]]
    assert found[5] == [[2, 1], [4, 3], [6, 5]]


def test_a_body_may_take_the_number_of_the_iteration():
    def make(call, number, carried, x):
        total = call("add_number", number, carried)
        return [total, call("add", total, x)]

    flow = ControlFlow(
        (body(make, number=ONE, carried=ROW, x=ROW),), trips=4, carried=1, scanned=1, counts=True
    )
    x = int8([0, 0], [1, 1], [2, 2], [3, 3])
    found = run(flow, [int8(5, 7), x], [relax.TensorType([4, 2], "int8")])
    assert found[0] == [11, 13]
    assert found[2] == [[5, 7], [7, 9], [10, 12], [14, 16]]


@pytest.mark.parametrize(("counts", "names"), [(False, ["number", "a"]), (True, ["a", "b"])])
def test_carried_tensors_are_states_of_the_body(counts, names):
    mod = body(lambda call, n, a, b: [call("add", a, b)] * 2, number=ROW, a=ROW, b=ROW)
    flow = ControlFlow((mod,), trips=2, carried=2, counts=counts)
    carried = with_carried_tensors(mod, flow)
    states = carried["main"].attrs["states"]
    assert [(state.name, state.output) for state in states] == [*zip(names, (0, 1), strict=True)]
    assert all(str(s.initial_value.dtype) == "int8" and s.initial_value.shape == () for s in states)
    assert not carried.attrs["extends_states"]
    assert "states" not in (mod["main"].attrs or {})
