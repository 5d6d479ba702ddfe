"""The C that runs operators and their kernels, for `files/run_checks.c`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property

from tvm import tirx
from tvm.ir import IRModule
from tvm.target import Target

from usmp.analysis.memory.calls import CallResolver
from usmp.analysis.memory.distances.kept_bytes import KeptBytes
from usmp.analysis.memory.facts import FunctionFacts
from usmp.aot.kernel_checks.check import Check, size_bytes
from usmp.aot.pointer_parameters import pass_buffers_as_pointers
from usmp.codegen.c.function import parameter_types, print_function
from usmp.codegen.c.helpers import Helpers
from usmp.codegen.c.source_files import mve_macros, text_of
from usmp.codegen.c.types import ALIAS_TYPEDEFS
from usmp.passes import with_prim_funcs
from usmp.support.found import Found
from usmp.support.tvm_errors import apply_to_functions
from usmp.tir.nodes import nodes_of
from usmp.transform.define_arithmetic import DefineArithmetic
from usmp.transform.lower_to_flat_tir import FLATTEN_BUFFERS, TO_LOOPS
from usmp.transform.widen_small_floats import WidenSmallFloats
from usmp.transform.zero_elem_offsets import ZeroElemOffsets

_LEAST_STACK_BYTES = 2**20


class _NotAnalyzed(FunctionFacts):
    """Facts for the printer about a PrimFunc without calls. No analysis is run, so all pointers
    are assumed to be written."""

    @classmethod
    def of(cls, name: str, func: tirx.PrimFunc) -> _NotAnalyzed:
        """Return the facts of a PrimFunc."""
        return cls(name, CallResolver({name: func}), {}, KeptBytes(), Found())

    @cached_property
    def written(self) -> AbstractSet[tirx.Var]:
        """All variables, as if written."""
        return {*self.func.params, *nodes_of(self.func.body, tirx.Var)}


def print_checks(checks: Sequence[Check]) -> str:
    """Return C source of operators, kernels, and the tables that `run_checks.h` declares."""
    functions = _lowered(checks)
    facts = {name: _NotAnalyzed.of(name, func) for name, func in functions.items()}
    symbols = {name: f"tvmgen_{name}" for name in functions}
    helpers = Helpers()
    printed = [
        print_function(facts[name], symbols, helpers, stays_apart=True) for name in functions
    ]
    parts = [
        '#include "run_checks.h"\n\n#include <math.h>\n#include <string.h>\n',
        text_of("macros/compiler_macros.h"),
        ALIAS_TYPEDEFS,
        text_of("macros/noinline_macro.h"),
        text_of("tensor_intrin/features.h"),
        mve_macros(helpers.definitions),
        *helpers.externs.values(),
        *helpers.definitions.values(),
        *printed,
        *_tables(checks, functions, symbols),
        f"const size_t stack_bytes = {_stack_bytes(functions)};\n",
    ]
    return "\n".join(parts)


def _lowered(checks: Sequence[Check]) -> dict[str, tirx.PrimFunc]:
    """Lower operators and kernels to flat TIR by as few passes as possible, without
    alternative schedules."""
    functions = {_operator(i): check.operator.func for i, check in enumerate(checks)}
    for i, check in enumerate(checks):
        functions |= {_kernel(i, j): body.func for j, body in enumerate(check.bodies)}
    mod = _module(functions)
    mod = apply_to_functions(TO_LOOPS, ZeroElemOffsets()(mod))
    mod = apply_to_functions(FLATTEN_BUFFERS, DefineArithmetic()(WidenSmallFloats()(mod)))
    return _with_intrinsics_of_c(with_prim_funcs(mod, pass_buffers_as_pointers))


def _module(functions: Mapping[str, tirx.PrimFunc]) -> IRModule:
    """Return a module of the PrimFuncs, without alternative schedules."""
    return IRModule(
        {
            name: tirx.PrimFunc(func.params, func.body).with_attr("tirx.noalias", True)
            for name, func in functions.items()
        }
    )


def _with_intrinsics_of_c(mod: IRModule) -> dict[str, tirx.PrimFunc]:
    target = Target("c")
    bound = IRModule({v: func.with_attr("target", target) for v, func in mod.functions.items()})
    lowered = apply_to_functions(tirx.transform.LowerIntrin(), bound)
    return {str(variable.name_hint): func for variable, func in lowered.functions.items()}


def _operator(i: int) -> str:
    return f"operator_{i}"


def _kernel(i: int, j: int) -> str:
    return f"kernel_{i}_{j}"


def _tables(
    checks: Sequence[Check], functions: Mapping[str, tirx.PrimFunc], symbols: Mapping[str, str]
) -> Iterator[str]:
    rows = []
    for i, check in enumerate(checks):
        buffers = list(check.buffers())
        outputs = len(check.operator.outputs)
        written = range(len(buffers) - outputs, len(buffers))
        names = [_operator(i), *(_kernel(i, j) for j in range(len(check.bodies)))]
        for name, arguments in zip(names, check.arguments(), strict=True):
            yield _caller(name, functions[name], symbols[name], [*arguments, *written])
        elements = ", ".join(f"{{{kind}, {size}}}" for kind, size in buffers)
        bodies = ", ".join(f"run_{name}" for name in names)
        yield f"static const struct buffer buffers_{i}[] = {{{elements}}};"
        yield f"static const function functions_{i}[] = {{{bodies}}};"
        rows.append(
            f"  {{buffers_{i}, {len(buffers)}, {outputs}, functions_{i}, {len(check.bodies)}}},"
        )
    yield "\n".join(["const struct check checks[] = {", *rows, "};"])
    yield f"const int check_count = {len(checks)};"


def _caller(name: str, func: tirx.PrimFunc, symbol: str, buffers: Sequence[int]) -> str:
    types = parameter_types(func, set(range(len(func.params))))
    arguments = ", ".join(f"({t})(void*)b[{n}]" for t, n in zip(types, buffers, strict=True))
    return f"static void run_{name}(uint8_t* const* b) {{ {symbol}({arguments}); }}"


def _stack_bytes(functions: Mapping[str, tirx.PrimFunc]) -> int:
    """Return the stack bytes for the scratch memory of any function, with a margin for
    alignment."""
    scratch = (
        sum(size_bytes(stmt.buffer) for stmt in nodes_of(func.body, tirx.AllocBuffer))
        for func in functions.values()
    )
    return 2 * max(scratch, default=0) + _LEAST_STACK_BYTES
