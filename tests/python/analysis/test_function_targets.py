"""The target of a PrimFunc, its own or its callers'."""

import tvm
from tvm import tirx
from tvm.script import ir as I
from tvm.script import tirx as T

from usmp.analysis.function_targets import function_targets

C = tvm.target.Target("c")
ACCEL = tvm.target.Target({"kind": "c", "keys": ["accel"]})


@I.ir_module
class Mod:
    @T.prim_func(private=True)
    def inner(A: T.Buffer((4,), "int8")):
        A[0] = T.int8(1)

    @T.prim_func(private=True)
    def outer(A: T.Buffer((4,), "int8")):
        Mod.inner(A)

    @T.prim_func
    def __tvm_main__(A: T.Buffer((4,), "int8")):
        Mod.outer(A)


def texts(mod):
    return {name: target and str(target) for name, target in function_targets(mod).items()}


def with_targets(mod, targets):
    functions = {
        v: f.with_attr("target", targets[v.name_hint]) if v.name_hint in targets else f
        for v, f in mod.functions.items()
    }
    return tvm.IRModule(functions)


def test_the_attribute_tells():
    mod = with_targets(Mod, {"inner": ACCEL, "outer": ACCEL, "__tvm_main__": C})
    assert texts(mod) == {"inner": str(ACCEL), "outer": str(ACCEL), "__tvm_main__": str(C)}


def test_without_the_attribute_it_is_that_of_the_callers():
    mod = with_targets(Mod, {"__tvm_main__": ACCEL})
    assert texts(mod) == {"inner": str(ACCEL), "outer": str(ACCEL), "__tvm_main__": str(ACCEL)}


def test_nothing_tells():
    assert texts(Mod) == {"inner": None, "outer": None, "__tvm_main__": None}


def test_bind_target_gives_private_functions_the_compiling_machine():
    mod = tirx.transform.BindTarget(C)(Mod)
    assert mod["outer"].attrs["target"].kind.name == "llvm"
    assert texts(mod) == {"inner": str(C), "outer": str(C), "__tvm_main__": str(C)}


def test_a_program_for_the_compiling_machine():
    llvm = tvm.target.Target("llvm")
    mod = tirx.transform.BindTarget(llvm)(Mod)
    assert set(texts(mod).values()) == {str(llvm)}


def test_callers_that_do_not_agree():
    @I.ir_module
    class Shared:
        @T.prim_func
        def op(A: T.Buffer((4,), "int8")):
            A[0] = T.int8(1)

        @T.prim_func
        def accelerated(A: T.Buffer((4,), "int8")):
            T.evaluate(T.call_extern("int32", "op", A.data))

        @T.prim_func
        def __tvm_main__(A: T.Buffer((4,), "int8")):
            Shared.accelerated(A)
            Shared.op(A)

    mod = with_targets(Shared, {"accelerated": ACCEL, "__tvm_main__": C})
    assert texts(mod)["op"] is None
