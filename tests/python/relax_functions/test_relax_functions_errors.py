"""Relax modules of one's own that are refused: PrimFuncs, calls of the runtime, functions."""

# ruff: noqa: SIM108  Branches of Relax are statements.

from __future__ import annotations

import numpy as np
import pytest
import tvm
from tvm import relax, tirx
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

import usmp
from usmp import UnsupportedModelError
from usmp.objects.state_info import StateInfo


def calling(func, *shapes, results, dtype="float32", in_place=None):
    """A module whose `main` calls a PrimFunc with tensors of these shapes."""
    builder = relax.BlockBuilder()
    callee = builder.add_func(func, "mine")
    inputs = [relax.Var(f"x{i}", relax.TensorType(s, dtype)) for i, s in enumerate(shapes)]
    types = [relax.TensorType(shape, dtype) for shape in results]
    with builder.function("main", inputs):
        tensors = relax.Tuple([builder.emit(relax.op.negative(x)) for x in inputs])
        if in_place is None:
            call = relax.call_tir(callee, tensors, types)
        else:
            call = relax.op.call_tir_inplace(callee, tensors, in_place, types)
        builder.emit_func_output(builder.emit(call))
    return builder.get()


def copy(**options):
    """A PrimFunc that copies 4 elements; `options` are those of its first buffer."""
    source = tirx.decl_buffer((4,), "float32", "source", **options)
    target = tirx.decl_buffer((4,), "float32", "target")
    index = tirx.Var("i", "int32")
    store = tirx.BufferStore(target, source[index], [index])
    return tirx.PrimFunc([source, target], tirx.For(index, 0, 4, tirx.ForKind.SERIAL, store))


@T.prim_func(private=True)
def writes_its_input(X: T.Buffer((4,), "float32"), Y: T.Buffer((4,), "float32")):
    for i in range(4):
        X[i] = X[i] * X[i]
        Y[i] = X[i]


@T.prim_func(private=True)
def writes_an_alias(X: T.Buffer((4,), "float32"), Y: T.Buffer((4,), "float32")):
    view = T.decl_buffer((2, 2), "float32", data=X.data)
    for i in range(4):
        Y[i] = X[i]
        view[i // 2, i % 2] = T.float32(0)


@T.prim_func(private=True)
def in_threads(X: T.Buffer((4,), "float32"), Y: T.Buffer((4,), "float32")):
    for i in T.thread_binding(4, thread="threadIdx.x"):
        Y[i] = X[i]


@T.prim_func(private=True)
def packed(X: T.Buffer((4,), "float32"), Y: T.Buffer((4,), "float32")):
    T.evaluate(T.call_packed("my.copy", X.data, Y.data))


def calling_another(inner, *passed):
    """A module whose PrimFunc calls another one with its buffers `x` and `y`, or some of them."""
    builder = relax.BlockBuilder()
    callee = builder.add_func(inner, "inner")
    x, y = (tirx.decl_buffer((2, 2), "float32", name) for name in "xy")
    arguments = [{"x": x, "y": y}[name] for name in passed]
    call = tirx.Evaluate(relax.Call(callee, arguments, ret_ty=tvm.ir.TupleType([])))
    outer = builder.add_func(tirx.PrimFunc([x, y], call), "outer")
    ty = relax.TensorType((2, 2), "float32")
    given = relax.Var("given", ty)
    with builder.function("main", [given]):
        builder.emit_func_output(builder.emit(relax.call_tir(outer, [given], ty)))
    return builder.get()


@T.prim_func(private=True)
def five(X: T.Buffer((5,), "float32"), Y: T.Buffer((4,), "float32")):
    for i in range(4):
        Y[i] = X[i + 1]


ONE = {"results": [(4,)]}


@pytest.mark.parametrize(
    ("mod", "message"),
    [
        (
            calling(copy(), (4,), (4,), **ONE),
            "operator mine (result gv2) takes 2 arguments, and is called with 3: 2 inputs, "
            "1 results and 0 sizes",
        ),
        (
            calling(copy(), (2, 2), **ONE),
            "operator mine (result gv1) takes source as float32[4], and is passed float32[2, 2]",
        ),
        (
            calling(copy(), (4,), results=[(5,)]),
            "operator mine (result gv1) takes target as float32[4], and is passed float32[5]",
        ),
        (
            calling(copy(), (4,), dtype="int8", **ONE),
            "operator mine (result gv1) takes source as float32[4], and is passed int8[4]",
        ),
        (
            calling(copy(strides=[2]), (4,), **ONE),
            "operator mine (result gv1) takes source with strides [2]; the elements of a tensor "
            "have no gaps",
        ),
        (
            calling(copy(elem_offset=1), (4,), **ONE),
            "operator mine (result gv1) takes source at element 1; give it no elem_offset",
        ),
        (
            calling(writes_its_input, (4,), **ONE),
            "operator mine writes its input X, which call_tir only lets it read; call it with "
            "R.call_tir_inplace, and list the input there",
        ),
        (
            calling(writes_an_alias, (4,), **ONE),
            "operator mine writes its input X, which call_tir only lets it read; call it with "
            "R.call_tir_inplace, and list the input there",
        ),
        (
            calling(copy(), (4,), (4,), results=[(4,)], in_place=[0]),
            "operator mine writes its input target, which call_tir_inplace only lets it read; "
            "call it with R.call_tir_inplace, and list the input there",
        ),
        (
            calling(in_threads, (4,), **ONE),
            "operator mine runs loop i in threads (T.thread_binding); one core runs the C: make it "
            "a serial loop",
        ),
        (
            calling(packed, (4,), **ONE),
            'operator mine calls the packed function "my.copy", which needs TVM\'s runtime; write '
            "its loops here, or call a function in C with T.call_extern",
        ),
        (
            calling_another(copy(), "x"),
            "operator outer calls inner with 1 arguments; it takes 2",
        ),
        (
            calling_another(five, "x", "y"),
            "operator outer calls inner, which takes X as float32[5], and passes float32[2, 2]",
        ),
        (
            calling_another(writes_its_input, "x", "y"),
            "operator outer writes its input x, which call_tir only lets it read; call it with "
            "R.call_tir_inplace, and list the input there",
        ),
    ],
    ids=lambda value: None if isinstance(value, str) else "",
)
def test_prim_funcs_that_are_refused(mod, message):
    with pytest.raises(UnsupportedModelError) as raised:
        usmp.build(mod)
    assert str(raised.value) == message


def of(body, *types, pure=True):
    """A module whose `main` computes what `body` emits of parameters of these types."""
    builder = relax.BlockBuilder()
    params = [relax.Var(f"x{i}", ty) for i, ty in enumerate(types)]
    with builder.function("main", params, pure=pure):
        builder.emit_func_output(builder.emit(body(*params)))
    return builder.get()


ROW = relax.TensorType((4,), "float32")
NEEDS = "which needs TVM's runtime; write it as a PrimFunc, and call that with R.call_tir"


@pytest.mark.parametrize(
    ("mod", "message"),
    [
        (
            of(lambda x: relax.Call(relax.ExternFunc("my.f"), [x], ty_args=[ROW]), ROW, pure=False),
            f'the model calls the packed function "my.f" by call_packed (result gv), {NEEDS}',
        ),
        (
            of(lambda x: relax.op.call_pure_packed("my.f", x, ty_args=ROW), ROW),
            f'the model calls the packed function "my.f" by call_pure_packed (result gv), {NEEDS}',
        ),
        (
            of(
                lambda x: relax.op.call_inplace_packed("my.f", x, inplace_indices=0, ty_args=ROW),
                ROW,
            ),
            'the model calls the packed function "my.f" by call_inplace_packed (result gv), '
            f"{NEEDS}",
        ),
        (
            of(lambda x: relax.op.call_dps_packed("my.f", (x,), out_ty=ROW), ROW),
            f'the model calls the packed function "my.f" by call_dps_packed (result gv), {NEEDS}',
        ),
        (
            of(lambda x: relax.op.call_py_func("f", (x,), out_ty=ROW), ROW, pure=False),
            f'the model calls the packed function "f" by call_py_func (result gv), {NEEDS}',
        ),
        (
            of(
                lambda x: relax.op.call_builtin_with_ctx("vm.f", (x,), ty_args=[ROW]),
                ROW,
                pure=False,
            ),
            'the model calls the packed function "vm.f" by call_builtin_with_ctx (result gv), '
            f"{NEEDS}",
        ),
        (
            of(lambda x: relax.op.print(x, format="{}"), ROW, pure=False),
            "operator print (result gv) needs TVM's runtime, which the emitted C has not; leave it "
            "out",
        ),
        (
            of(lambda x: relax.op.assert_op(x), relax.TensorType((), "bool"), pure=False),
            "operator assert_op (result gv) needs TVM's runtime, which the emitted C has not; "
            "leave it out, and check inputs before the run",
        ),
        (
            of(relax.op.ccl.allreduce, ROW),
            "operator ccl.allreduce (result gv) is for several devices, and a build is for one; "
            "leave it out",
        ),
        (
            of(lambda x, *p: relax.op.nn.batch_norm(x, *p, axis=0), ROW, *[ROW] * 4),
            "operator nn.batch_norm (result gv) has training=True, and would take its statistics "
            "from the batch; set training=False",
        ),
        (
            of(relax.op.median, ROW),
            'operator median calls the packed function "tvm.contrib.sort.argsort", which needs '
            "TVM's runtime; compute it by other operators",
        ),
        (
            of(lambda x: relax.Call(tvm.ir.Op.get("relax.inspect.tensor_ndim"), [x]), ROW),
            "operator _get_tensor_ndim (result gv: int32) cannot be lowered to static C",
        ),
    ],
)
def test_calls_that_need_the_runtime(mod, message):
    with pytest.raises(UnsupportedModelError) as raised:
        usmp.build(mod)
    assert str(raised.value) == message


@I.ir_module
class Recursive:
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        return Recursive.first(x)

    @R.function(private=True)
    def first(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        return Recursive.second(x)

    @R.function(private=True)
    def second(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        return Recursive.first(x)


@I.ir_module
class CallsEntry:
    @R.function
    def main(x: R.Tensor((4,), "float32")):
        y = CallsEntry.step(x)
        return y[0]

    @R.function
    def step(x: R.Tensor((4,), "float32")) -> R.Tuple(
        R.Tensor((4,), "float32"), R.Tensor((4,), "float32")
    ):
        R.func_attr({"states": [StateInfo("x", 0, tvm.runtime.tensor(np.zeros(4, np.float32)))]})
        return (x, x)


@I.ir_module
class Sizes:
    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor((4,), "float32")):
        if c:
            y = R.negative(x)
        else:
            y = R.reshape(x, (2, 2))
        return y


@I.ir_module
class Conditions:
    @R.function
    def main(c: R.Tensor((2,), "bool"), x: R.Tensor((4,), "float32")):
        if c:
            y = R.negative(x)
        else:
            y = x
        return y


@I.ir_module
class SymbolicBranch:
    @R.function
    def main(c: R.Tensor((), "bool"), x: R.Tensor(("n",), "float32")):
        if c:
            y = R.negative(x)
        else:
            y = x
        return y


@pytest.mark.parametrize(
    ("mod", "message"),
    [
        (
            Recursive,
            'function "first" calls itself (first -> second -> first): how much memory that takes '
            "is not known at compile time; write out the steps",
        ),
        (
            Sizes,
            "the branches of an If give float32[4] and float32[2, 2]; which of them runs must be "
            "known at compile time, or both must give tensors of the same static shapes and "
            "element types",
        ),
        (
            Conditions,
            'the condition of an If is R.Tensor((2,), dtype="bool"); it must be a tensor of one '
            "bool or integer",
        ),
        (
            SymbolicBranch,
            'a branch of an If reads x, R.Tensor((n,), dtype="float32"); it must be a tensor of '
            "static shape",
        ),
        (
            CallsEntry,
            'function "main" calls "step", which keeps states; pass them as arguments, and let the '
            "function that is called return them",
        ),
    ],
    ids=["recursion", "sizes", "condition", "symbolic", "states"],
)
def test_functions_that_are_refused(mod, message, capfd):
    with pytest.raises(UnsupportedModelError) as raised:
        usmp.build(mod)
    assert str(raised.value) == message
    assert capfd.readouterr() == ("", "")
