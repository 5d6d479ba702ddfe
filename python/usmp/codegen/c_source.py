"""The C source of a compiled model: operators, main function, pools, entry point."""

from __future__ import annotations

import tvm_ffi
from tvm import tirx
from tvm.ir import Call, GlobalVar, IRModule
from tvm.target import Target

from usmp.codegen.c_constants import print_constant_pool
from usmp.codegen.c_function import parameter_types, print_function
from usmp.codegen.c_header import (
    comment_text,
    map_declaration,
    reset_declaration,
    run_declaration,
)
from usmp.codegen.c_helpers import Helpers
from usmp.codegen.c_types import ALIAS_TYPEDEFS, COMPILER_MACROS
from usmp.codegen.calls import is_call_by_name
from usmp.codegen.interface import Interface, Pool, Tensor
from usmp.codegen.names import Scope, replace_forbidden
from usmp.codegen.written_parameters import WrittenParameters
from usmp.objects.attributes import MAIN_FUNCTION_NAME


def print_source(mod: IRModule, interface: Interface) -> str:
    """The C99 source of a planned module; everything in it but the entry points is static.

    Raises
    ------
    UnsupportedInC: the TIR has something that portable C99 lacks.
    """
    functions = _lowered_for_c(mod)
    order = _callees_first(functions)
    c_names = _c_names(interface, order)
    written = WrittenParameters(functions)
    helpers = Helpers()
    bodies = [print_function(n, functions[n], c_names, written, helpers) for n in order]
    main = functions[MAIN_FUNCTION_NAME]
    types = parameter_types(main, written.of(MAIN_FUNCTION_NAME))
    parts = [
        f'/* TVM module "{comment_text(interface.module_name)}", planned by usmp. */\n'
        f'#include "{interface.prefix}.h"\n\n#include <math.h>\n#include <string.h>\n',
        COMPILER_MACROS,
        f"/* Pool memory changes its type over time, so it is accessed through these. */\n"
        f"{ALIAS_TYPEDEFS}\n",
        *(f"{declaration}\n" for declaration in helpers.externs.values()),
        *(f"{definition}\n" for definition in helpers.definitions.values()),
        *(f"{body}\n" for body in bodies),
        *(_pool_definition(interface, pool) for pool in interface.pools if pool.is_internal),
        *_map_definitions(interface),
        _run_definition(interface, c_names[MAIN_FUNCTION_NAME], types),
        *_reset_definition(interface),
    ]
    return "\n".join(parts)


def _lowered_for_c(mod: IRModule) -> dict[str, tirx.PrimFunc]:
    """The PrimFuncs of `mod` by name, with the intrinsics of C.

    The target is set, not bound: BindTarget gives private PrimFuncs the host's target, LLVM.
    """
    target = Target("c")
    functions = {
        variable: func.with_attr("target", target)
        for variable, func in mod.functions.items()
        if isinstance(func, tirx.PrimFunc)
    }
    lowered = tirx.transform.LowerIntrin()(IRModule(functions))
    return {variable.name_hint: func for variable, func in lowered.functions.items()}


def _c_names(interface: Interface, functions: list[str]) -> dict[str, str]:
    """C names of the PrimFuncs, unlike the other names that the source defines."""
    taken = _entry_points(interface)
    for pool in interface.pools:
        taken += [_pool_symbol(interface, pool), f"{_pool_symbol(interface, pool)}_has_size"]
    scope = Scope(taken)
    return {
        name: scope.unique(f"{interface.prefix}_{replace_forbidden(name)}") for name in functions
    }


def _entry_points(interface: Interface) -> list[str]:
    return [f"{interface.prefix}_{name}" for name in ("run", "reset", "map_inputs", "map_outputs")]


def _callees_first(functions: dict[str, tirx.PrimFunc]) -> list[str]:
    """The PrimFuncs that `__tvm_main__` reaches, each after those that it calls."""
    order: dict[str, None] = {}

    def visit(name: str) -> None:
        called: dict[str, None] = {}

        def on_call(call: Call) -> None:
            if isinstance(call.op, GlobalVar) and call.op.name_hint in functions:
                called[call.op.name_hint] = None
            elif is_call_by_name(call, functions):
                called[call.args[0].value] = None

        tvm_ffi.structural_walk(functions[name].body, (Call, on_call), order="pre")
        for callee in called:
            if callee not in order:
                visit(callee)
        order[name] = None

    visit(MAIN_FUNCTION_NAME)
    return list(order)


def _pool_symbol(interface: Interface, pool: Pool) -> str:
    """The name of an internal pool; the prefix keeps it apart from whatever else is in scope."""
    return Scope(_entry_points(interface)).unique(f"{interface.prefix}_{pool.c_name}")


def _pool_definition(interface: Interface, pool: Pool) -> str:
    symbol = _pool_symbol(interface, pool)
    if pool.is_constant:
        return print_constant_pool(pool.info, symbol, pool.alignment_bytes)
    size, alignment = max(pool.size_bytes, 1), pool.alignment_bytes
    return f"static uint8_t {symbol}[{size}] TVMGEN_ALIGNED({alignment});\n"


def _pool_address(interface: Interface, name: str) -> str:
    pool = next(p for p in interface.pools if p.info.pool_info.pool_name == name)
    if not pool.is_internal:
        return f"workspace_pools->{pool.c_name}"
    symbol = _pool_symbol(interface, pool)
    return f"&{symbol}" if pool.is_constant else symbol


def _place(interface: Interface, tensor: Tensor) -> str:
    """The address of a tensor that was planned into a workspace pool."""
    assert tensor.place is not None
    pool = _pool_address(interface, tensor.place.pool_info.pool_name)
    return f"((uint8_t*){pool} + {int(tensor.place.byte_offset)})"


def _map_definitions(interface: Interface) -> list[str]:
    if not interface.has_workspace_io:
        return []
    definitions = []
    for what, tensors in (("inputs", interface.inputs), ("outputs", interface.outputs)):
        lines = [f"{map_declaration(interface, what)} {{"]
        lines.append(f"  struct {interface.prefix}_{what} places;")
        lines += [f"  places.{t.c_name} = {_place(interface, t)};" for t in tensors]
        lines += ["  return places;", "}\n"]
        definitions.append("\n".join(lines))
    return definitions


def _run_definition(interface: Interface, main: str, types: list[str]) -> str:
    """The entry point: hands tensors and pools to the main function."""
    lines = [f"{run_declaration(interface)} {{"]
    arguments = []
    if interface.has_workspace_io:
        lines += _copies(interface, "inputs", interface.inputs)
    else:
        arguments += [f"inputs->{tensor.c_name}" for tensor in interface.inputs]
        arguments += [f"outputs->{tensor.c_name}" for tensor in interface.outputs]
        lines += [
            f"  (void){what};"
            for what, tensors in (("inputs", interface.inputs), ("outputs", interface.outputs))
            if not tensors
        ]
    arguments += [_pool_address(interface, p.info.pool_info.pool_name) for p in interface.pools]
    passed = ",\n      ".join(
        f"({type_name}){argument}" for type_name, argument in zip(types, arguments, strict=True)
    )
    lines.append(f"  {main}(\n      {passed});" if passed else f"  {main}();")
    if interface.has_workspace_io:
        lines += _copies(interface, "outputs", interface.outputs)
    lines += ["  return 0;", "}\n"]
    return "\n".join(lines)


def _copies(interface: Interface, what: str, tensors: list[Tensor]) -> list[str]:
    """Move tensors that the application keeps elsewhere into, or out of, the workspace."""
    lines = []
    for tensor in tensors:
        place, user = _place(interface, tensor), f"{what}->{tensor.c_name}"
        target, source = (place, user) if what == "inputs" else (user, place)
        lines.append(f"  if ({what} != 0 && (uint8_t*){user} != {place}) {{")
        lines.append(f"    memmove({target}, {source}, {int(tensor.info.size_bytes)});")
        lines.append("  }")
    return lines or [f"  (void){what};"]


def _reset_definition(interface: Interface) -> list[str]:
    """Zeros are what a first run finds in memory; it sets the states from there."""
    if not interface.states:
        return []
    lines = [f"{reset_declaration(interface)} {{"]
    for state in interface.states:
        pool = _pool_address(interface, str(state.pool_name))
        place = f"(uint8_t*){pool} + {int(state.byte_offset)}"
        lines.append(f"  memset({place}, 0, {int(state.size_bytes)});")
    external = interface.external_pools
    if external and not any(interface.states_in(pool) for pool in external):
        lines.append("  (void)workspace_pools;")
    return ["\n".join([*lines, "}\n"])]
