"""A PrimFunc that is called by a name that a function of C has too."""

import numpy as np
import pytest
import tvm
from tvm import tirx
from tvm.ir import GlobalVar, PointerType, PrimType
from tvm.script import ir as I
from tvm.script import tirx as T

from usmp.executor_factory import AOTExecutorFactoryModule

pytestmark = pytest.mark.cc

NO_RESOURCE = T.reinterpret("handle", T.uint64(0))


@I.ir_module(s_tir=True)
class Mod:
    """`exp` is called by its name, and is not the function of <math.h>, which is called too."""

    @T.prim_func(private=True)
    def exp(a: T.handle("float32"), b: T.handle("float32")):
        A = T.decl_buffer((4,), "float32", data=a)
        B = T.decl_buffer((4,), "float32", data=b)
        scratch = T.alloc_buffer((4,), "float32")
        for i in range(4):
            scratch[3 - i] = T.exp(A[i])
        for i in range(4):
            B[i] = scratch[i]

    @T.prim_func
    def __tvm_main__(x_ptr: T.handle("float32"), y_ptr: T.handle("float32")):
        x = T.decl_buffer((4,), "float32", data=x_ptr)
        y = T.decl_buffer((4,), "float32", data=y_ptr)
        between = T.alloc_buffer((4,), "float32")
        T.evaluate(T.call_extern("int32", "exp", x.data, between.data, NO_RESOURCE))
        T.evaluate(T.call_extern("int32", "exp", between.data, y.data))


POINTER = PointerType(PrimType("float32"))
NUMBER = PrimType("float32")


def doubling():
    """A PrimFunc that doubles what its argument points to, by way of scratch."""
    data = tirx.Var("data", POINTER)
    elements = tirx.decl_buffer((4,), "float32", "elements")
    scratch = tirx.decl_buffer((1,), "float32", "scratch")
    i = tirx.Var("i", "int32")
    body = tirx.SeqStmt(
        [
            tirx.BufferStore(scratch, elements[i], [0]),
            tirx.BufferStore(elements, scratch[0] + scratch[0], [i]),
        ]
    )
    loop = tirx.For(i, 0, 4, tirx.ForKind.SERIAL, body)
    declared = [tirx.DeclBuffer(elements, data=data), tirx.AllocBuffer(scratch)]
    return tirx.PrimFunc([data], tirx.SeqStmt([*declared, loop]))


def difference():
    """A PrimFunc that subtracts two numbers, by way of scratch."""
    a, b = tirx.Var("a", "float32"), tirx.Var("b", "float32")
    scratch = tirx.decl_buffer((1,), "float32", "scratch")
    store = tirx.BufferStore(scratch, a - b, [0])
    body = [tirx.AllocBuffer(scratch), store, tirx.Return(scratch[0])]
    return tirx.PrimFunc([a, b], tirx.SeqStmt(body), ret_type=NUMBER)


def calling(name, func, statement):
    """A module that copies x to y and runs a statement, which `statement` makes of x and y."""
    x_ptr, y_ptr, i = tirx.Var("x_ptr", POINTER), tirx.Var("y_ptr", POINTER), tirx.Var("i", "int32")
    x, y = (tirx.decl_buffer((4,), "float32", each) for each in "xy")
    declared = [tirx.DeclBuffer(x, data=x_ptr), tirx.DeclBuffer(y, data=y_ptr)]
    copy = tirx.For(i, 0, 4, tirx.ForKind.SERIAL, tirx.BufferStore(y, x[i], [i]))
    main = tirx.PrimFunc([x_ptr, y_ptr], tirx.SeqStmt([*declared, copy, statement(x, y)]))
    functions = {GlobalVar(name): func, GlobalVar("__tvm_main__"): main}
    return tvm.IRModule(functions)


def call(operator, *arguments):
    return tirx.call_intrin("int32", operator, "exp", *arguments)


def no_resource():
    return tirx.reinterpret("handle", tirx.const(0, "uint64"))


FORMS = {
    "extern": lambda y: tirx.Evaluate(call("tirx.call_extern", y.data)),
    "pure": lambda y: tirx.Evaluate(call("tirx.call_pure_extern", y.data)),
    "pure, without a use": lambda y: tirx.Bind(
        tirx.Var("unused", "int32"), call("tirx.call_pure_extern", y.data)
    ),
    "cpacked": lambda y: tirx.Evaluate(call("tirx.tvm_call_cpacked", y.data, no_resource())),
    "packed": lambda y: tirx.Evaluate(call("tirx.tvm_call_packed", y.data)),
}

TENSORS = ([("x", [4], "float32")], [("y", [4], "float32")])


@pytest.mark.parametrize("target", ["c", "llvm"])
def test_the_prim_func_is_called_and_gets_its_pools(plan, target):
    mod, interface = plan(Mod, *TENSORS)
    main = mod["__tvm_main__"].with_attr("target", tvm.target.Target(target))
    mod.update_func(mod.get_global_var("__tvm_main__"), main)
    x = np.array([0.0, 0.5, -1.0, 0.25], np.float32)
    outputs = AOTExecutorFactoryModule(mod, interface.module_name).run({"x": x})
    np.testing.assert_allclose(outputs["y"], np.exp(np.exp(x)[::-1])[::-1], rtol=1e-6)


@pytest.mark.parametrize(
    ("target", "form"),
    # LLVM cannot bind what a function does not return.
    [*(("c", form) for form in FORMS), *(("llvm", form) for form in FORMS if "use" not in form)],
)
def test_every_form_of_a_call_calls_the_prim_func(plan, target, form):
    mod, interface = plan(calling("exp", doubling(), lambda x, y: FORMS[form](y)), *TENSORS)
    assert run(mod, interface, target) == [0.0, 1.0, -2.0, 0.5]


def test_numbers_that_the_function_of_c_does_not_take(plan):
    """`exp` of <math.h> takes one."""

    def statement(x, y):
        value = tirx.call_extern("float32", "exp", x[1], x[2])
        return tirx.BufferStore(y, value, [0])

    mod, interface = plan(calling("exp", difference(), statement), *TENSORS)
    assert run(mod, interface, "c") == [1.5, 0.5, -1.0, 0.25]


def test_numbers_that_the_function_of_c_takes_go_there(plan):
    """TVM lowers T.exp(x) to a call by this name."""

    def statement(x, y):
        return tirx.BufferStore(y, tirx.call_extern("float32", "fmaxf", x[1], x[2]), [0])

    mod, interface = plan(calling("fmaxf", difference(), statement), *TENSORS)
    assert run(mod, interface, "c") == [0.5, 0.5, -1.0, 0.25]


def run(mod, interface, target):
    main = mod["__tvm_main__"].with_attr("target", tvm.target.Target(target))
    mod.update_func(mod.get_global_var("__tvm_main__"), main)
    x = np.array([0.0, 0.5, -1.0, 0.25], np.float32)
    return AOTExecutorFactoryModule(mod, interface.module_name).run({"x": x})["y"].tolist()
