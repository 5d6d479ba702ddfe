"""Compilation of the operators and main functions of a planned module to an object file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import tvm
from tvm import tirx
from tvm.ir import Call, GlobalVar, IRModule, PointerType, PrimType, Var
from tvm.target import Target

from usmp.analysis.memory.facts import facts_of_functions
from usmp.codegen.c.function import parameter_types
from usmp.codegen.interface.module_interface import Interface
from usmp.codegen.llvm.aliasing import may_alias
from usmp.codegen.llvm.expressions import Expressions, UnsupportedByLLVM
from usmp.codegen.sources.entry_points import MainFunction
from usmp.codegen.sources.source import function_symbols, functions_of_entries, lowered_functions
from usmp.objects.attributes.annotations import CONSTANT_DATA_ATTR
from usmp.support.process.temporary_folder import temporary_folder
from usmp.support.tvm_errors import reason_of
from usmp.tir.nodes import is_const_int, nodes_of
from usmp.tir.tensor_intrin import without_intrinsics
from usmp.tir.unrolled_loops import without_marks

_CONVERSION = re.compile(
    r"^define weak [^@\n]*@(__truncsfhf2|__extendhfsf2)\(.*?^}\n", re.MULTILINE | re.DOTALL
)
_MAY_THROW = re.compile(r"^(attributes #\d+ = \{ )(?!.*\bnounwind\b)", re.MULTILINE)
_EXPORT = re.compile(r"^(define (?:[a-z_]+ )*)dllexport ", re.MULTILINE)


@dataclass(frozen=True)
class LLVMModule:
    """A planned module that LLVM compiled.

    Parameters
    ----------
    code
        the object file.
    mains
        its external functions: the main function of each entry, in order.
    """

    code: bytes
    mains: list[MainFunction]


def compile_module(mod: IRModule, interface: Interface, target: Target) -> LLVMModule:
    """Compile the main PrimFuncs of the entries and their callees for the CPU of `target`.

    Only the main functions are external. The object file depends on functions of the C library, of
    the compiler and of the user, but not on TVM's runtime.

    Raises
    ------
    UnsupportedByLLVM
        TVM's code generator does not support the TIR.
    """
    functions = lowered_functions(mod)
    facts = facts_of_functions(functions)
    order = functions_of_entries(facts, interface)
    names = [entry.function for entry in interface.entries]
    all_symbols = function_symbols(interface, order)
    symbols = {name: all_symbols[name] for name in names}
    mains = [
        MainFunction(
            symbols[name], parameter_types(functions[name], facts.of(name).written_parameters)
        )
        for name in names
    ]
    variables = [variable for variable in mod.functions if variable.name_hint in order]
    reachable = IRModule({variable: functions[variable.name_hint] for variable in variables})
    built = compile_functions(reachable, symbols, target)
    return LLVMModule(_object_file(built), mains)


def compile_functions(
    mod: IRModule, symbols: Mapping[str, str], target: Target
) -> tvm.runtime.Module:
    """Compile PrimFuncs.

    Parameters
    ----------
    mod
        flat PrimFuncs after LowerIntrin for target "c".
    symbols
        name of an external PrimFunc -> its symbol in the object file.
    target
        the CPU.

    Raises
    ------
    UnsupportedByLLVM
        TVM's code generator does not support the TIR.
    """
    expressions = Expressions(mod.functions)
    rewritten = {
        variable: expressions.rewrite(_checked(variable.name_hint, _plain(func)))
        for variable, func in mod.functions.items()
    }
    prepared = {}
    for variable, func in (rewritten | expressions.intrinsics).items():
        func = may_alias(func).with_attr("target", target).without_attr("global_symbol")
        symbol = symbols.get(variable.name_hint)
        prepared[variable] = func.with_attr("global_symbol", symbol) if symbol else func
    try:
        return _built(prepared, target)
    except Exception as error:
        failing, cause = _failing(prepared, target, error)
        raise UnsupportedByLLVM(
            f"TVM cannot make LLVM code of {failing}: {reason_of(cause)}"
        ) from cause


def _plain(func: tirx.PrimFunc) -> tirx.PrimFunc:
    """Return the function without tensor intrinsics and unroll marks, which are for C only."""
    return without_marks(without_intrinsics(func))


def _built(functions: Mapping[GlobalVar, tirx.PrimFunc], target: Target) -> tvm.runtime.Module:
    return tvm.get_global_func("target.build.llvm")(IRModule(dict(functions)), target)


def _failing(
    functions: Mapping[GlobalVar, tirx.PrimFunc], target: Target, error: Exception
) -> tuple[str, Exception]:
    """Return the first operator that TVM cannot compile, with its error. If each operator compiles
    alone, return the model with `error`."""
    for variable, func in functions.items():
        called = {c.op: functions[c.op] for c in nodes_of(func.body, Call) if c.op in functions}
        try:
            _built({**called, variable: func}, target)
        except Exception as own:
            return f"operator {variable.name_hint}", own
    return "the model", error


def _checked(name: str, func: tirx.PrimFunc) -> tirx.PrimFunc:
    """Return `func`, with result type int32 if it has a `return 0`. Raise if a constant is in no
    pool, a tensor is of bfloat16, or `func` returns a value other than 0."""
    for stmt in nodes_of(func.body, tirx.AllocBuffer):
        if CONSTANT_DATA_ATTR.is_on(stmt):
            raise UnsupportedByLLVM(f"{name}: constant {stmt.buffer.name} is in no constant pool")
    if any(_is_bfloat16(variable) for variable in (*func.params, *nodes_of(func.body, Var))):
        raise UnsupportedByLLVM(f"{name} has tensors of bfloat16; compile the model with target c")
    returned = nodes_of(func.body, tirx.Return)
    if not all(is_const_int(r.value, 0) for r in returned):
        raise UnsupportedByLLVM(f"{name}: a PrimFunc that returns a value")
    if returned:
        func = tirx.PrimFunc(func.params, func.body, PrimType("int32"), func.attrs)
    return func


def _is_bfloat16(variable: Var) -> bool:
    """Return whether a variable has, or points to, bfloat16. TVM would end the process there."""
    ty = variable.ty.element_type if isinstance(variable.ty, PointerType) else variable.ty
    return str(getattr(ty, "dtype", "")) == "bfloat16"


def _object_file(module: tvm.runtime.Module) -> bytes:
    with temporary_folder() as directory:
        path = directory / "module.ll"
        ir = _without_exceptions(_without_exports(module.inspect_source("ll")))
        path.write_text(ir, encoding="utf-8")
        load = tvm.get_global_func("ffi.Module.load_from_file.ll")
        load(str(path), "ll").write_to_file(str(path.with_suffix(".o")), "o")
        return path.with_suffix(".o").read_bytes()


def _without_exceptions(ir: str) -> str:
    """Return LLVM IR with all functions marked `nounwind`. Otherwise they would need unwind tables
    and the code that reads the tables."""
    return _MAY_THROW.sub(r"\1nounwind ", ir)


def _without_exports(ir: str) -> str:
    """Return LLVM IR without unused conversions and exports.

    TVM defines conversions of half floats in every module. It exports private functions, which LLVM
    rejects when it reads the IR.
    """
    reduced = _CONVERSION.sub("", ir)
    uses_conversions = re.search(r"^(?!declare).*\bhalf\b", reduced, re.MULTILINE)
    return _EXPORT.sub(r"\1", ir if uses_conversions else reduced)
