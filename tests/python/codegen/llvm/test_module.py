"""LLVM's text of a module, without what TVM lets others see, and what is refused before."""

from __future__ import annotations

import pytest
import tvm
from tvm import tirx
from tvm.ir import GlobalVar, IRModule, PointerType, PrimType

from support.interface_views import interface
from support.planner_views import WithScratch
from usmp.codegen.llvm.expressions import UnsupportedByLLVM
from usmp.codegen.llvm.module import (
    _without_exceptions,
    _without_exports,
    compile_functions,
    compile_module,
)

CONVERSIONS = """define weak float @__extendhfsf2(i16 %x) #0 {
  ret float 0.0
}
define weak dso_local i16 @__truncsfhf2(float %x) #0 {
  ret i16 0
}
"""
PLAIN = "define dllexport i32 @f() #1 {\n  ret i32 0\n}\n"
LLVM = tvm.target.Target("llvm")
ZERO = tirx.IntImm("int32", 0)


def test_conversions_of_half_floats_are_removed_unless_they_are_used():
    assert _without_exports(CONVERSIONS + PLAIN) == PLAIN.replace("dllexport ", "")
    uses = "define i32 @g(half %x) #1 {\n  ret i32 0\n}\n"
    assert _without_exports(CONVERSIONS + uses) == CONVERSIONS + uses
    # A declaration alone is no use.
    declared = "declare half @llvm.fabs(half)\n"
    assert _without_exports(CONVERSIONS + declared) == declared


def test_private_functions_are_not_exported():
    text = "define internal dllexport void @f() {\n}\ndefine void @g() {\n}\n"
    assert _without_exports(text) == text.replace("dllexport ", "")


def test_functions_throw_nothing():
    text = 'attributes #0 = { "a" }\nattributes #1 = { nounwind "b" }\n'
    expected = 'attributes #0 = { nounwind "a" }\nattributes #1 = { nounwind "b" }\n'
    assert _without_exceptions(text) == expected


def compiled(symbols=("f",), **functions):
    mod = IRModule({GlobalVar(name): func for name, func in functions.items()})
    return compile_functions(mod, {name: name for name in symbols}, LLVM).inspect_source("ll")


def refusal(**functions):
    with pytest.raises(UnsupportedByLLVM) as error:
        compiled(**functions)
    return str(error.value)


def pointer(dtype):
    return tirx.Var("p", PointerType(PrimType(dtype)))


@pytest.mark.parametrize("dtype", ["bfloat16", "float32"])
@pytest.mark.parametrize("is_pointer", [False, True])
def test_bfloat16_is_refused(dtype, is_pointer):
    variable = pointer(dtype) if is_pointer else tirx.Var("x", dtype)
    func = tirx.PrimFunc([variable], tirx.Evaluate(ZERO))
    if dtype == "float32":
        assert "@f(" in compiled(f=func)
    else:
        assert refusal(f=func) == ("f has tensors of bfloat16; compile the model with target c")


def test_functions_return_zero_or_nothing():
    assert "i32 @f()" in compiled(f=tirx.PrimFunc([], tirx.Return(ZERO)))
    for value in (tirx.IntImm("int32", 1), tirx.Var("x", "int32")):
        params = [value] if isinstance(value, tirx.Var) else []
        assert "a PrimFunc that returns a value" in refusal(
            f=tirx.PrimFunc(params, tirx.Return(value), PrimType("int32"))
        )


def test_constants_are_in_a_pool():
    second = WithScratch["second"].with_attr("target", tvm.target.Target("c"))
    assert refusal(f=second) == "f: constant weights is in no constant pool"
    first = WithScratch["first"].with_attr("target", tvm.target.Target("c"))
    assert "@f(" in compiled(f=first)


def test_only_named_functions_are_visible():
    both = {name: tirx.PrimFunc([], tirx.Evaluate(ZERO)) for name in ("f", "g")}
    text = compiled(**both)
    assert "@f(" in text and "define dllexport" in text
    assert "@g(" not in text


def test_what_tvm_refuses_is_named_with_its_operator():
    index = tirx.Var("i", "int32")
    thread = tirx.IterVar(None, index, tirx.IterVar.ThreadIndex, "threadIdx.x")
    loop = tirx.For(index, 0, 4, tirx.ForKind.THREAD_BINDING, tirx.Evaluate(index + 1), thread)
    functions = {"f": tirx.PrimFunc([], tirx.Evaluate(ZERO)), "g": tirx.PrimFunc([], loop)}
    assert refusal(**functions).startswith("TVM cannot make LLVM code of operator g: ")


def test_the_object_file_has_what_entries_reach():
    empty = tirx.PrimFunc([], tirx.Evaluate(ZERO)).with_attr("target", tvm.target.Target("c"))
    mod = IRModule({"__tvm_main__": empty, "other": empty})
    found = compile_module(mod, interface(), LLVM)
    assert found.code.startswith(b"\x7fELF")
    (main,) = found.mains
    assert main.c_name.encode() in found.code and b"other" not in found.code
