"""MergeSimilarFunctions: merge functions that differ only in integers into one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from fractions import Fraction
from typing import Any

import tvm
from tvm import tirx
from tvm.ir import Call, GlobalVar, IRModule, TupleType

from usmp.analysis.function_accesses import function_accesses
from usmp.names import BALANCED, SMALL
from usmp.objects.attributes.attribute import Attribute
from usmp.objects.attributes.module_attributes import CODE_ATTR, ENTRIES_ATTR
from usmp.objects.attributes.operator_attributes import (
    ACCELERATOR_FUNCTION_ATTR,
    EXTERN_KERNELS_ATTR,
    MERGED_FUNCTIONS_ATTR,
    SHARED_FUNCTION_ATTR,
)
from usmp.objects.entries import entries_of, entry_function_name
from usmp.passes import ModulePass
from usmp.support.text.unique_names import UniqueNames
from usmp.tir.integer_constants import (
    DTYPE,
    Parameters,
    SimilarFunctions,
    parameters_of,
    similar_functions,
    with_constants,
)
from usmp.tir.nodes import nodes_of

_APART: tuple[Attribute[Any], ...] = (
    ACCELERATOR_FUNCTION_ATTR,
    EXTERN_KERNELS_ATTR,
    MERGED_FUNCTIONS_ATTR,
    SHARED_FUNCTION_ATTR,
)
"""Attributes of functions that are not merged."""

_KEPT = ("s_tir", "target")
"""Attributes that a shared function takes from the first function that calls it."""

_RARE = Fraction(3, 100)
"""Most loads and stores of rarely used functions together, as a fraction of those of a run."""

_GROWTH = {BALANCED: 2, SMALL: 1}
"""About how many times as much code a shared function takes as one of its callers. In balanced
code, it also unrolls inner loops for unknown sizes."""

_BYTES_BY_CONSTANT = 3
_BYTES_OF_CALL = 16
_BYTES_OF_ARGUMENT = 6
"""Approximate bytes of Thumb-2 code for a constant with its use, and for a call."""


@tvm.transform.module_pass(opt_level=0, name="usmp.MergeSimilarFunctions")
class MergeSimilarFunctions(ModulePass):
    """Merge operators that differ only in integers, so that they share their code.

    PrimFuncs that are structurally equal but for 32-bit integers (extents, strides, offsets, zero
    points, rescaling factors) become one PrimFunc, with the integers that differ as parameters. The
    original PrimFuncs keep names, parameters and attributes, and only call the shared one.
    Functions stay apart if they differ in integers that the compiler must know: sizes of
    allocations, bounds of unrolled loops, divisors, amounts of shifts. They also stay apart if the
    calls would take about as much code.

    A shared function takes more instructions, because the compiler knows fewer constants. So
    `balanced` code merges only rarely used functions: those with the fewest loads and stores,
    together at most 3 % of those of a run (`usmp.analysis.function_accesses`). `small` code merges
    all similar functions, and unrolls no inner loops.

    The attribute `merged_functions` of a shared PrimFunc names its callers, their attribute
    `shared_function` names the shared PrimFunc, and the attribute `code` of the module has the kind
    of code. Run the pass after all analyses of accesses, because these cannot see through the
    parameters. LLVM's MergeSimilarFunctions does the same to its IR.

    Parameters
    ----------
    code
        `balanced` or `small`, see `tir.usmp.code`.

    Raises
    ------
    ValueError
        an unknown kind of code.
    """

    reads = (
        *(ENTRIES_ATTR, EXTERN_KERNELS_ATTR, MERGED_FUNCTIONS_ATTR, SHARED_FUNCTION_ATTR),
        ACCELERATOR_FUNCTION_ATTR,
    )
    writes = (CODE_ATTR, MERGED_FUNCTIONS_ATTR, SHARED_FUNCTION_ATTR)

    def __init__(self, code: str = SMALL) -> None:
        if code not in _GROWTH:
            raise ValueError(
                f'code that shares functions is "{BALANCED}" or "{SMALL}", not "{code}"'
            )
        self.code = code

    def transform_module(self, mod: IRModule, _: tvm.transform.PassContext) -> IRModule:
        """Replace bodies by calls."""
        mains = {entry_function_name(entry) for entry in entries_of(mod)}
        names = UniqueNames(str(variable.name_hint) for variable in mod.functions)
        merged = IRModule(mod.functions, attrs=mod.attrs)
        functions = _candidates(mod, mains)
        growth = _GROWTH[self.code]
        if self.code == BALANCED and len(functions) > growth:
            rare = _rarely_used(mains, mod)
            functions = {name: func for name, func in functions.items() if name in rare}
        for similar, parameters in _similar(functions, growth):
            shared = GlobalVar(names.unique(f"{similar.functions[0]}_shared"))
            merged.update_func(shared, _shared(functions, similar, parameters))
            for index, name in enumerate(similar.functions):
                arguments = [values[index] for values in parameters.values]
                call = _call(functions[name], shared, arguments)
                merged.update_func(mod.get_global_var(name), call)
        return CODE_ATTR.put(merged, self.code)


def _rarely_used(mains: Iterable[str], mod: IRModule) -> set[str]:
    """Return the functions with the fewest loads and stores, up to a fraction of those of a run."""
    accesses = function_accesses(mains, mod)
    rest = _RARE * accesses.total()
    rare: set[str] = set()
    for name, count in sorted(accesses.items(), key=lambda item: (item[1], _numbered(item[0]))):
        rest -= count
        if rest < 0:
            break
        rare.add(name)
    return rare


def _similar(
    functions: Mapping[str, tirx.PrimFunc], growth: int
) -> Iterator[tuple[SimilarFunctions, Parameters]]:
    """Yield the groups of functions to merge, with the parameters of each shared function."""
    for of_target in _by_target(functions):
        # Skip small groups early: they save nothing, and are the usual case.
        for similar in similar_functions(of_target) if len(of_target) > growth else ():
            parameters = parameters_of(similar)
            if _are_smaller(similar, parameters, growth):
                yield similar, parameters


def _candidates(mod: IRModule, mains: Collection[str]) -> dict[str, tirx.PrimFunc]:
    """Return the functions that may be merged, in an order that is the same on all machines."""
    names = sorted((str(variable.name_hint) for variable in mod.functions), key=_numbered)
    functions = {name: mod[name] for name in names if name not in mains}
    return {
        name: func
        for name, func in functions.items()
        if isinstance(func, tirx.PrimFunc) and _may_be_merged(func)
    }


def _by_target(functions: Mapping[str, tirx.PrimFunc]) -> Iterable[dict[str, tirx.PrimFunc]]:
    by_target: dict[str, dict[str, tirx.PrimFunc]] = {}
    for name, func in functions.items():
        by_target.setdefault(str((func.attrs or {}).get("target")), {})[name] = func
    return by_target.values()


def _numbered(name: str) -> tuple[int, str]:
    """Return a sort key that puts conv2d9 before conv2d10."""
    return len(name), name


def _may_be_merged(func: tirx.PrimFunc) -> bool:
    has_reasons = any(attribute.is_on(func) for attribute in _APART)
    return not has_reasons and not nodes_of(func.body, tirx.Return)


def _are_smaller(similar: SimilarFunctions, parameters: Parameters, growth: int) -> bool:
    """Return whether a shared function and its calls take less code than the functions."""
    count = len(similar.functions)
    calls = count * (_BYTES_OF_CALL + _BYTES_OF_ARGUMENT * len(parameters.variables))
    return (count - growth) * _BYTES_BY_CONSTANT * len(similar.constants) > calls


def _shared(
    functions: Mapping[str, tirx.PrimFunc], similar: SimilarFunctions, parameters: Parameters
) -> tirx.PrimFunc:
    first = functions[similar.functions[0]]
    body = with_constants(first.body, parameters.constants)
    kept = {name: first.attrs[name] for name in _KEPT if name in (first.attrs or {})}
    shared = tirx.PrimFunc([*first.params, *parameters.variables], body)
    return shared.with_attrs({**kept, **MERGED_FUNCTIONS_ATTR.entry(similar.functions)})


def _call(func: tirx.PrimFunc, shared: GlobalVar, arguments: Iterable[int]) -> tirx.PrimFunc:
    constants = [tirx.IntImm(DTYPE, argument) for argument in arguments]
    call = Call(shared, [*func.params, *constants], ret_ty=TupleType([]))
    name = str(shared.name_hint)
    return SHARED_FUNCTION_ATTR.put(func.with_body(tirx.Evaluate(call)), name)
