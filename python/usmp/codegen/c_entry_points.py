"""What surrounds the operators in C: internal pools, and the functions that applications call."""

from __future__ import annotations

from dataclasses import dataclass

from usmp.codegen.c_constants import print_constant_pool
from usmp.codegen.c_header import (
    comment_text,
    map_declaration,
    reset_declaration,
    run_declaration,
)
from usmp.codegen.c_types import ALIAS_TYPEDEFS, COMPILER_MACROS
from usmp.codegen.interface import Interface, Pool, Tensor
from usmp.codegen.names import Scope


@dataclass(frozen=True)
class MainFunction:
    """The planned main function, as the entry points call it.

    Parameters
    ----------
    c_name: its symbol.
    parameter_types: the C types of inputs, outputs and pools, in this order; inputs and outputs
        are missing if they live in the workspace.
    """

    c_name: str
    parameter_types: list[str]

    @property
    def declaration(self) -> str:
        """Its declaration as a function of another object file, without the semicolon."""
        return f"extern void {self.c_name}({', '.join(self.parameter_types) or 'void'})"


def print_preamble(interface: Interface) -> str:
    """What a source file of the model begins with: headers, macros, types."""
    return "\n".join(
        [
            f'/* TVM module "{comment_text(interface.module_name)}", planned by usmp. */\n'
            f'#include "{interface.prefix}.h"\n\n#include <math.h>\n#include <string.h>\n',
            COMPILER_MACROS,
            f"/* Pool memory changes its type over time, so it is accessed through these. */\n"
            f"{ALIAS_TYPEDEFS}\n",
        ]
    )


def print_entry_points(interface: Interface, main: MainFunction) -> str:
    """The internal pools, and the functions of the header around `main`."""
    return "\n".join(
        [
            *(_pool_definition(interface, pool) for pool in interface.pools if pool.is_internal),
            *_map_definitions(interface),
            _run_definition(interface, main),
            *_reset_definition(interface),
        ]
    )


def print_entry_point_source(interface: Interface, main: MainFunction) -> str:
    """A source file of its own for `print_entry_points`; `main` is in another object file."""
    return "\n".join(
        [print_preamble(interface), f"{main.declaration};\n", print_entry_points(interface, main)]
    )


def taken_symbols(interface: Interface) -> list[str]:
    """The names that this file defines or may define, which no operator may have."""
    taken = _entry_points(interface)
    for pool in interface.pools:
        taken += [_pool_symbol(interface, pool), f"{_pool_symbol(interface, pool)}_has_size"]
    return taken


def _entry_points(interface: Interface) -> list[str]:
    return [f"{interface.prefix}_{name}" for name in ("run", "reset", "map_inputs", "map_outputs")]


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


def _run_definition(interface: Interface, main: MainFunction) -> str:
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
        f"({type_name}){argument}"
        for type_name, argument in zip(main.parameter_types, arguments, strict=True)
    )
    lines.append(f"  {main.c_name}(\n      {passed});" if passed else f"  {main.c_name}();")
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
