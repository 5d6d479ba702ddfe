"""The C source of a compiled model: operators and main functions, then the entry points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tvm import tirx
from tvm.ir import IRModule
from tvm.target import Target

from usmp.analysis.memory.facts import FunctionFacts, ModuleFacts, facts_of_functions
from usmp.codegen.c.function import parameter_types, print_function, result_type
from usmp.codegen.c.helpers import Helpers
from usmp.codegen.c.names import Scope
from usmp.codegen.c.source_files import mve_macros, text_of
from usmp.codegen.c.value_types import has_float64
from usmp.codegen.interface.module_interface import Interface
from usmp.codegen.sources.core_features import print_features, without_vectors_of_hosts
from usmp.codegen.sources.entry_points import (
    MainFunction,
    print_entry_point_source,
    print_entry_points,
    source_file,
)
from usmp.codegen.sources.macros import STATIC_ASSERT
from usmp.codegen.sources.operator_comments import operator_comment
from usmp.codegen.sources.operator_hooks import define_operator_hooks
from usmp.codegen.sources.packed import print_packed_source
from usmp.codegen.sources.pools import taken_symbols
from usmp.codegen.sources.workspace_size import workspace_size_definitions
from usmp.objects.attributes.operator_attributes import ACCELERATOR_FUNCTION_ATTR
from usmp.objects.merged_functions import calls_shared_function
from usmp.support.tvm_errors import apply_to_functions
from usmp.tir.dynamic_allocator import ALLOCATE_IN_ARENA, RELEASE_IN_ARENA


def print_sources(mod: IRModule, interface: Interface) -> list[str]:
    """Return the sources of a planned module, `<module>_lib<N>.c` at index N.

    The first source is C99 and contains the operators and a C interface; only the functions of the
    header are external. A packed interface is a second source, in C11, and then the main functions
    are external, too. A function that several entries call is printed once.

    Raises
    ------
    UnsupportedInC
        the TIR needs something that portable C99 lacks.
    """
    functions = lowered_functions(mod)
    facts = facts_of_functions(functions)
    order = functions_of_entries(facts, interface)
    c_names = function_symbols(interface, order)
    declared = [str(function.symbol) for function in interface.accelerator_functions]
    arena = [ALLOCATE_IN_ARENA, RELEASE_IN_ARENA] if interface.takes_arena else []
    helpers = Helpers(declared=frozenset([*declared, *interface.operator_hooks, *arena]))
    mains_of = {entry.function for entry in interface.entries}
    inlined = mains_of | {name for name in order if calls_shared_function(mod[name])}
    printed = {
        name: print_function(facts.of(name), c_names, helpers, stays_apart=name not in inlined)
        for name in order
    }
    sizes = workspace_size_definitions(interface, functions, helpers)
    bodies = [printed.pop(entry.function) for entry in interface.entries]
    mains = [_main_function(facts.of(e.function), c_names) for e in interface.entries]
    parts = [
        *_assert_double([functions[name] for name in order], interface),
        *([text_of("macros/noinline_macro.h")] if printed else []),
        *print_features(mod, interface, helpers),
        *([macros] if (macros := mve_macros(helpers.definitions)) else []),
        *(f"{declaration}\n" for declaration in helpers.externs.values()),
        *(
            f"{definition}\n"
            for definition in without_vectors_of_hosts(mod, interface, helpers.definitions)
        ),
        *define_operator_hooks(interface),
        *(f"{operator_comment(mod[name], name)}{text}\n" for name, text in printed.items()),
    ]
    if not interface.is_packed:
        parts += [*(f"{body}\n" for body in bodies), *sizes, print_entry_points(interface, mains)]
        return [source_file(interface, parts)]
    external = [
        f"{main.declaration};\n\n{body.removeprefix('static ')}\n"
        for main, body in zip(mains, bodies, strict=True)
    ]
    return [source_file(interface, [*parts, *external]), print_packed_source(interface, mains)]


def _assert_double(functions: Sequence[tirx.PrimFunc], interface: Interface) -> list[str]:
    """Return the assertion that `double` has 64 bits, if functions need float64. On AVR it has 32
    bits, and results would differ."""
    if not any(map(has_float64, functions)):
        return []
    assertion = "TVMGEN_STATIC_ASSERT(sizeof(double) == 8, TVMGEN_DOUBLE_HAS_64_BITS);\n"
    return [assertion] if interface.pools else [STATIC_ASSERT, assertion]


def _main_function(facts: FunctionFacts, c_names: Mapping[str, str]) -> MainFunction:
    types = parameter_types(facts.func, facts.written_parameters)
    return MainFunction(c_names[facts.name], types, result_type(facts.func))


def print_main_caller(mod: IRModule, interface: Interface, mains: Sequence[MainFunction]) -> str:
    """Return the source of the interface, which calls the main functions of another object file."""
    printed = print_packed_source if interface.is_packed else print_entry_point_source
    parts = define_operator_hooks(interface)
    if interface.workspace_sizes:
        helpers = Helpers()
        sizes = workspace_size_definitions(interface, lowered_functions(mod), helpers)
        parts += [*(f"{definition}\n" for definition in helpers.definitions.values()), *sizes]
    return printed(interface, mains, parts)


def functions_of_entries(facts: ModuleFacts, interface: Interface) -> list[str]:
    """Return the PrimFuncs of all entries and their callees, callees before callers."""
    return list(
        dict.fromkeys(
            name
            for entry in interface.entries
            for name in facts.graph.callees_first(entry.function)
        )
    )


def lowered_functions(mod: IRModule) -> dict[str, tirx.PrimFunc]:
    """Return the PrimFuncs of `mod` by name, lowered to the intrinsics of C.

    The target is set directly, because BindTarget gives private PrimFuncs the host's target, LLVM.
    Calls of accelerators are not lowered, because lowering would lose which arguments they write.
    """
    target = Target("c")
    functions = {
        variable: func.with_attr("target", target)
        for variable, func in mod.functions.items()
        if isinstance(func, tirx.PrimFunc)
    }
    lowered = apply_to_functions(tirx.transform.LowerIntrin(), IRModule(functions))
    return {
        variable.name_hint: functions[variable] if ACCELERATOR_FUNCTION_ATTR.is_on(func) else func
        for variable, func in lowered.functions.items()
    }


def function_symbols(interface: Interface, functions: list[str]) -> dict[str, str]:
    """Return C names of the PrimFuncs, distinct from the other names in the source."""
    symbols = [str(function.symbol) for function in interface.accelerator_functions]
    scope = Scope([*taken_symbols(interface), *symbols])
    return {name: scope.symbol(interface.prefix, name) for name in functions}
