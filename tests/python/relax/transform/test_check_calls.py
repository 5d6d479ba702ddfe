"""CheckCalls: what C can call, and what is said of other calls."""

from __future__ import annotations

import pytest
import tvm
from tvm import relax, tirx
from tvm.ir import Call, GlobalVar, IRModule, PointerType, PrimType
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

from usmp.relax.transform.check_calls import CheckCalls
from usmp.support.errors import UnsupportedModelError


def buffer(shape, dtype="float32", name="a", **options):
    return tirx.decl_buffer(shape, dtype, name, **options)


def nothing(*params, body=None) -> tirx.PrimFunc:
    return tirx.PrimFunc(list(params), body or tirx.Evaluate(0))


def calling(func, shapes, results, in_place=None, sizes=None, dtype="float32") -> IRModule:
    """A module whose `main` calls `mine` with tensors of these shapes."""
    inputs = [relax.Var(f"x{i}", relax.TensorType(s, dtype)) for i, s in enumerate(shapes)]
    types = [relax.TensorType(shape, dtype) for shape in results]
    callee = GlobalVar("mine")
    if in_place is None:
        call = relax.call_tir(callee, relax.Tuple(inputs), types)
        if sizes:
            arguments = [*call.args, relax.ShapeExpr(sizes)]
            call = Call(call.op, arguments, call.attrs, call.ty_args)
    else:
        call = relax.op.call_tir_inplace(callee, relax.Tuple(inputs), in_place, types)
    result = relax.Var("y", call.ty_args[0])
    body = relax.SeqExpr([relax.BindingBlock([relax.VarBinding(result, call)])], result)
    function = relax.Function(inputs, body, result.ty)
    functions = {GlobalVar("main"): function}
    return IRModule(functions if func is None else {**functions, callee: func})


def accepted(mod: IRModule) -> None:
    assert CheckCalls()(mod).same_as(mod)


def refused(mod: IRModule, message: str) -> None:
    with pytest.raises(UnsupportedModelError, match=message):
        CheckCalls()(mod)


VOID = PrimType("void")
N = tirx.Var("n", PrimType("int64"))
A, B = buffer((4,)), buffer((2, 3), name="b")


@pytest.mark.parametrize(
    ("params", "shapes", "results", "options"),
    [
        ([A, B], [(4,)], [(2, 3)], {}),
        ([A, B, buffer((4,))], [(4,)], [(2, 3), (4,)], {}),
        # A result that is written over an argument is no parameter of its own.
        ([A, B], [(4,), (2, 3)], [(4,)], {"in_place": [0]}),
        ([A, B], [(4,)], [(4,), (2, 3)], {"in_place": [0, -1]}),
        ([A, B, N], [(4,)], [(2, 3)], {"sizes": [5]}),
        # Typed pointers have no shape.
        ([tirx.Var("p", PointerType(PrimType("float32"))), B], [(4,)], [(2, 3)], {}),
        ([buffer((N, 3)), buffer((N,))], [(4, 3)], [(4,)], {}),
        ([buffer((2, 3), strides=[3, 1]), A], [(2, 3)], [(4,)], {}),
        ([buffer((1, 3), strides=[7, 1]), A], [(1, 3)], [(4,)], {}),
        ([buffer((2, 3), strides=[N, 1]), A], [(2, 3)], [(4,)], {}),
        ([buffer((4,), elem_offset=0), A], [(4,)], [(4,)], {}),
    ],
)
def test_a_primfunc_takes_inputs_then_results_then_sizes(params, shapes, results, options):
    accepted(calling(nothing(*params), shapes, results, **options))


@pytest.mark.parametrize(
    ("params", "shapes", "results", "options", "message"),
    [
        (
            [A],
            [(4,)],
            [(4,)],
            {},
            r"operator mine \(result y\) takes 1 arguments, .* with 2: 1 inputs",
        ),
        ([A, B, A], [(4,)], [(2, 3)], {}, "takes 3 arguments, .* 1 results and 0 sizes"),
        ([A, B], [(4,)], [(2, 3)], {"sizes": [5]}, "1 results and 1 sizes"),
        ([A, B], [(4,)], [(2, 3)], {"in_place": [0]}, "takes 2 arguments, and is called with 1"),
        ([A, B], [(5,)], [(2, 3)], {}, r"takes a as float32\[4\], and is passed float32\[5\]"),
        (
            [A, B],
            [(4,)],
            [(3, 2)],
            {},
            r"takes b as float32\[2, 3\], and is passed float32\[3, 2\]",
        ),
        ([A, B], [(4,)], [(6,)], {}, r"and is passed float32\[6\]"),
        ([A, buffer((4,), "int8")], [(4,)], [(4,)], {}, r"as int8\[4\], and is passed float32"),
        # One size cannot be two numbers.
        (
            [buffer((N, 3)), buffer((N,), name="b")],
            [(4, 3)],
            [(5,)],
            {},
            r"takes b as float32\[n\]",
        ),
        ([N, A], [(4,)], [(4,)], {}, "takes n of type .* where a tensor is passed; make it"),
        ([tirx.Var("p", "handle"), A], [(4,)], [(4,)], {}, "takes p of type"),
        ([buffer((2, 3), strides=[4, 1]), A], [(2, 3)], [(4,)], {}, r"a with strides \[4, 1\]"),
        ([buffer((2, 3), strides=[6, 2]), A], [(2, 3)], [(4,)], {}, r"a with strides \[6, 2\]"),
        ([buffer((2, 3, 2), strides=[5, 2, 1]), A], [(2, 3, 2)], [(4,)], {}, "have no gaps"),
        ([buffer((4,), elem_offset=2), A], [(4,)], [(4,)], {}, "takes a at element 2; give it no"),
    ],
)
def test_other_arguments_are_refused(params, shapes, results, options, message):
    refused(calling(nothing(*params), shapes, results, **options), message)


def test_what_is_called_is_a_primfunc_of_the_module():
    message = r"call_tir \(result y\) calls .*mine.*, which is no PrimFunc of the module"
    refused(calling(None, [(4,)], [(4,)]), message)
    other = calling(nothing(A, B), [(4,)], [(2, 3)])
    refused(calling(other["main"], [(4,)], [(4,)]), message)
    refused(calling(None, [(4,)], [(4,)], in_place=[0]), r"call_tir_inplace \(result y\)")


def test_primfuncs_call_no_packed_functions_and_have_no_threads():
    packed = tirx.Evaluate(tirx.call_packed("my.twice", 1))
    refused(
        calling(nothing(A, A, body=packed), [(4,)], [(4,)]),
        'operator mine calls the packed function "my.twice".*T.call_extern',
    )
    accepted(
        calling(nothing(A, A, body=tirx.Evaluate(tirx.call_extern("int32", "f"))), [(4,)], [(4,)])
    )
    index = tirx.Var("i", "int32")
    for kind, is_refused in ((tirx.ForKind.SERIAL, False), (tirx.ForKind.THREAD_BINDING, True)):
        thread = (
            tirx.IterVar(None, tirx.Var("t", "int32"), 1, "threadIdx.x") if is_refused else None
        )
        loop = tirx.For(index, 0, 4, kind, tirx.Evaluate(0), thread)
        mod = calling(nothing(A, A, body=loop), [(4,)], [(4,)])
        if is_refused:
            refused(mod, r"operator mine runs loop i in threads \(T.thread_binding\)")
        else:
            accepted(mod)


def passing(inner_params, arguments, depth: int = 1) -> IRModule:
    """`mine` passes these to `inner0`, which passes its first one to `inner1`, and so on."""
    outer, result = buffer((4,), name="x"), buffer((4,), name="y")
    variables = [GlobalVar(f"inner{number}") for number in range(depth)]
    call = tirx.Evaluate(Call(variables[0], [*arguments(outer, result)], ret_ty=VOID))
    mod = calling(nothing(outer, result, body=call), [(4,)], [(4,)])
    for number, variable in enumerate(variables):
        params = list(inner_params())
        body = None
        if number + 1 < depth:
            body = tirx.Evaluate(
                Call(variables[number + 1], [params[0]] * len(params), ret_ty=VOID)
            )
        mod[variable] = nothing(*params, body=body)
    return mod


def test_primfuncs_pass_what_others_take():
    accepted(passing(lambda: [buffer((4,))], lambda x, y: [x]))
    accepted(passing(lambda: [buffer((2, 2)), buffer((3,))], lambda x, y: [x, y]))
    accepted(passing(lambda: [buffer((N,))], lambda x, y: [x]))
    accepted(passing(lambda: [tirx.Var("n", "int32")], lambda x, y: [tirx.IntImm("int32", 1)]))
    accepted(passing(lambda: [buffer((4,))], lambda x, y: [x], depth=3))


@pytest.mark.parametrize(
    ("inner", "arguments", "message"),
    [
        ([(5,)], lambda x, y: [x], r"takes a as float32\[5\], and passes float32\[4\]"),
        ([(4,)], lambda x, y: [x, y], "calls inner0 with 2 arguments; it takes 1"),
    ],
)
def test_primfuncs_that_pass_something_else_are_refused(inner, arguments, message):
    refused(passing(lambda: [buffer(shape) for shape in inner], arguments), message)


def test_passed_buffers_have_the_element_type():
    refused(passing(lambda: [buffer((4,), "int8")], lambda x, y: [x]), r"takes a as int8\[4\]")
    unknown = passing(lambda: [buffer((4,))], lambda x, y: [x])
    del unknown[unknown.get_global_var("inner0")]
    refused(unknown, "operator mine calls inner0, which is no PrimFunc of the module")
    inner = passing(lambda: [buffer((4,))], lambda x, y: [x], depth=2)
    del inner[inner.get_global_var("inner1")]
    refused(inner, "operator inner0 calls inner1, which is no PrimFunc")


def main_of(make) -> IRModule:
    """A main of one value, which is not checked by TVM."""
    x = relax.Var("x", relax.TensorType((4,), "float32"))
    value = make(x)
    result = relax.Var("y", x.ty)
    body = relax.SeqExpr([relax.BindingBlock([relax.VarBinding(result, value)])], result)
    return IRModule({GlobalVar("main"): relax.Function([x], body, x.ty, is_pure=False)})


TY = relax.TensorType((4,), "float32")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda x: relax.op.call_pure_packed("my.f", x, ty_args=[TY]),
            r'packed function "my.f" by call_pure_packed \(result y\), .* PrimFunc',
        ),
        (lambda x: relax.op.call_dps_packed("my.f", relax.Tuple([x]), TY), "by call_dps_packed"),
        (lambda x: relax.op.assert_op(relax.const(True), [x], "no"), "assert_op .* leave it out"),
        (lambda x: relax.op.print(x, format="{}"), "print .* needs TVM's runtime"),
        (lambda x: relax.op.ccl.allreduce(x), "ccl.allreduce .* is for several devices"),
        (lambda x: relax.op.hint_on_device(x, tvm.cpu(1)), "hint_on_device"),
    ],
)
def test_calls_that_need_the_runtime_are_refused(make, message):
    refused(main_of(make), message)


def test_statistics_are_not_taken_from_a_batch():
    def norm(training):
        def make(x):
            scale = [relax.const([1.0] * 4, "float32") for _ in range(4)]
            return relax.op.nn.batch_norm(x, *scale, axis=0, training=training)

        return main_of(make)

    accepted(norm(False))
    refused(norm(True), r"nn.batch_norm \(result y\) has training=True")


def test_packed_functions_are_called_by_name():
    @I.ir_module
    class Module:
        @R.function(pure=False)
        def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            y = R.call_packed("my.twice", x, ty_args=R.Tensor((4,), "float32"))
            return y

    refused(Module, r'the model calls the packed function "my.twice" by call_packed \(result y\)')


def test_calls_in_branches_are_checked():
    @I.ir_module(check_well_formed=False)
    class Module:
        @T.prim_func(private=True)
        def mine(a: T.Buffer((5,), "float32"), b: T.Buffer((4,), "float32")):
            T.evaluate(0)

        @R.function
        def main(c: R.Tensor((), "bool"), x: R.Tensor((4,), "float32")):
            if c:  # noqa: SIM108
                y = R.call_tir(Module.mine, (x,), out_ty=R.Tensor((4,), "float32"))
            else:
                y = x
            return y

    refused(Module, r"takes a as float32\[5\], and is passed float32\[4\]")
