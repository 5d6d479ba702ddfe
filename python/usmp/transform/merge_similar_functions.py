"""MergeSimilarFunctions: functions that differ in integers only become one that takes these."""

from __future__ import annotations

from collections.abc import Iterable

import tvm
from tvm import tirx
from tvm.ir import Call, GlobalVar, IRModule, TupleType

from usmp.names import SMALL
from usmp.objects.attributes import (
    ACCELERATOR_FUNCTION_ATTR,
    CODE_ATTR,
    EXTERN_KERNELS_ATTR,
    MERGED_FUNCTIONS_ATTR,
    SHARED_FUNCTION_ATTR,
)
from usmp.objects.entries import entries_of, entry_function_name
from usmp.passes import ModulePass
from usmp.support.unique_names import UniqueNames
from usmp.tir.integer_constants import (
    DTYPE,
    Parameters,
    SimilarFunctions,
    parameters_of,
    similar_functions,
    with_constants,
)
from usmp.tir.nodes import nodes_of

_APART = (
    ACCELERATOR_FUNCTION_ATTR,
    EXTERN_KERNELS_ATTR,
    MERGED_FUNCTIONS_ATTR,
    SHARED_FUNCTION_ATTR,
)
"""Attributes of functions that stay as they are."""

_KEPT = ("s_tir", "target")
"""Attributes of functions that what they share has too."""

_BYTES_BY_CONSTANT = 3
_BYTES_OF_CALL = 16
_BYTES_OF_ARGUMENT = 6
"""About what Thumb-2 code takes for a constant and what is around it, and to call a function."""


@tvm.transform.module_pass(opt_level=0, name="usmp.MergeSimilarFunctions")
class MergeSimilarFunctions(ModulePass):
    """Let operators that differ in integers only share their code.

    PrimFuncs that are structurally equal but for integers of 32 bits (extents, strides, offsets,
    zero points, rescaling factors) become one PrimFunc, which takes those that differ as
    parameters. Each of them stays, with its name, parameters and attributes, as a call of that one.
    What a compiler has to know is no parameter, and functions that differ there stay apart: sizes
    of allocations, bounds of loops that are written out, divisors, amounts of shifts. So do
    functions whose calls would be about as much code.

    The attribute `merged_functions` of such a PrimFunc names those that call it, their attribute
    `shared_function` names it, and the attribute `code` of the module becomes `small`. To come
    after all analyses of what functions access, since that depends on parameters then. LLVM's
    MergeSimilarFunctions does the same to its IR.
    """

    def transform_module(self, mod: IRModule, _: tvm.transform.PassContext) -> IRModule:
        """Replace bodies by calls."""
        mains = {entry_function_name(entry) for entry in entries_of(mod)}
        names = UniqueNames(str(variable.name_hint) for variable in mod.functions)
        merged = IRModule(mod.functions, attrs=mod.attrs)
        for functions in _by_target(mod, mains):
            for similar in similar_functions(functions):
                parameters = parameters_of(similar)
                if not _are_smaller(similar, parameters):
                    continue
                shared = GlobalVar(names.unique(f"{similar.functions[0]}_shared"))
                merged.update_func(shared, _shared(functions, similar, parameters))
                for index, name in enumerate(similar.functions):
                    arguments = [values[index] for values in parameters.values]
                    call = _call(functions[name], shared, arguments)
                    merged.update_func(mod.get_global_var(name), call)
        return merged.with_attr(CODE_ATTR, SMALL)


def _by_target(mod: IRModule, mains: Iterable[str]) -> list[dict[str, tirx.PrimFunc]]:
    """The functions that may be merged: those of each target, by name, in one order on all
    machines."""
    by_target: dict[str, dict[str, tirx.PrimFunc]] = {}
    names = sorted((str(variable.name_hint) for variable in mod.functions), key=_numbered)
    for name in names:
        func = mod[name]
        if name not in mains and isinstance(func, tirx.PrimFunc) and _may_be_merged(func):
            target = str((func.attrs or {}).get("target"))
            by_target.setdefault(target, {})[name] = func
    return list(by_target.values())


def _numbered(name: str) -> tuple[int, str]:
    """Sorts conv2d9 before conv2d10."""
    return len(name), name


def _may_be_merged(func: tirx.PrimFunc) -> bool:
    has_reasons = any(name in (func.attrs or {}) for name in _APART)
    return not has_reasons and not nodes_of(func.body, tirx.Return)


def _are_smaller(similar: SimilarFunctions, parameters: Parameters) -> bool:
    """Whether a call takes less code than what it stands for."""
    count = len(similar.functions)
    calls = count * (_BYTES_OF_CALL + _BYTES_OF_ARGUMENT * len(parameters.variables))
    return (count - 1) * _BYTES_BY_CONSTANT * len(similar.constants) > calls


def _shared(
    functions: dict[str, tirx.PrimFunc], similar: SimilarFunctions, parameters: Parameters
) -> tirx.PrimFunc:
    first = functions[similar.functions[0]]
    body = with_constants(first.body, parameters.constants)
    kept = {name: first.attrs[name] for name in _KEPT if name in (first.attrs or {})}
    shared = tirx.PrimFunc([*first.params, *parameters.variables], body)
    return shared.with_attrs({**kept, MERGED_FUNCTIONS_ATTR: similar.functions})


def _call(func: tirx.PrimFunc, shared: GlobalVar, arguments: Iterable[int]) -> tirx.PrimFunc:
    constants = [tirx.IntImm(DTYPE, argument) for argument in arguments]
    call = Call(shared, [*func.params, *constants], ret_ty=TupleType([]))
    name = str(shared.name_hint)
    return func.with_body(tirx.Evaluate(call)).with_attr(SHARED_FUNCTION_ATTR, name)
