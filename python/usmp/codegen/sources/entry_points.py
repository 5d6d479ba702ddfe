"""The C code around the operators: internal pools, and the functions that applications call."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from usmp.codegen.c.includes import library_includes
from usmp.codegen.c.source_files import text_of
from usmp.codegen.c.text import comment_text, quoted
from usmp.codegen.c.types import ALIAS_TYPEDEFS
from usmp.codegen.interface.entry_interface import EntryInterface, IOTensor
from usmp.codegen.interface.module_interface import Interface
from usmp.codegen.sources.header import map_declaration, reset_declaration, run_declaration
from usmp.codegen.sources.pool_checks import pool_address, pool_checks
from usmp.codegen.sources.pools import print_internal_pools
from usmp.codegen.sources.row_callbacks import (
    handle,
    handles_of_rows,
    print_adapters,
    print_struct_of_rows,
)
from usmp.codegen.sources.sizes import size_checks, size_macro


@dataclass(frozen=True)
class MainFunction:
    """The planned function of an entry, which the application's entry point calls.

    Parameters
    ----------
    c_name
        symbol of the function.
    parameter_types
        C types of inputs, outputs, sizes, devices, arena and pools, in this order. Inputs and
        outputs are missing if they are in the workspace, and are handles if they are passed by
        rows.
    result_type
        C type of the status, if accelerator functions return one.
    """

    c_name: str
    parameter_types: list[str]
    result_type: str = "void"

    @property
    def declaration(self) -> str:
        """The external declaration of the function, without the semicolon."""
        parameters = ", ".join(self.parameter_types) or "void"
        return f"extern {self.result_type} {self.c_name}({parameters})"

    def call(self, arguments: Sequence[str], before_status: str = "") -> str:
        """Return the statements that call the function, and return its status unless it is 0.

        Parameters
        ----------
        arguments
            arguments in C, without casts.
        before_status
            statements between the call and the check of the status.
        """
        casts = zip(self.parameter_types, arguments, strict=True)
        passed = ",\n      ".join(f"({type_name}){argument}" for type_name, argument in casts)
        call = f"{self.c_name}(\n      {passed});" if passed else f"{self.c_name}();"
        if self.result_type == "void":
            return f"  {call}{before_status}"
        declared = f"  const {self.result_type} status = {call}{before_status}"
        return f"{declared}\n  if (status != 0) return status;"


def source_file(interface: Interface, parts: Iterable[str]) -> str:
    """Return a source file of the model: headers, macros and types, then the parts."""
    text = "\n".join(parts)
    module, includes = comment_text(quoted(interface.module_name)), library_includes(text)
    preamble = [
        f'/* TVM module {module}, planned by usmp. */\n#include "{interface.prefix}.h"\n',
        *([includes] if includes else []),
        text_of("macros/compiler_macros.h"),
        f"/* Pool memory changes its type over time, so it is accessed through these. */\n"
        f"{ALIAS_TYPEDEFS}\n",
        *(text for entry in interface.entries for text in print_struct_of_rows(entry)),
    ]
    return "\n".join([*preamble, text])


def print_entry_points(interface: Interface, mains: Sequence[MainFunction]) -> str:
    """Return the internal pools, and the functions of the header, which call the main functions."""
    functions = [
        text
        for entry, main in zip(interface.entries, mains, strict=True)
        for text in (
            *_map_definitions(interface, entry),
            *print_adapters(entry),
            _run_definition(interface, entry, main),
        )
    ]
    return "\n".join([*print_internal_pools(interface), *functions, *_reset_definition(interface)])


def print_entry_point_source(
    interface: Interface, mains: Sequence[MainFunction], more: Iterable[str] = ()
) -> str:
    """Return a separate source file with the entry points; the main functions are in another
    object file.

    Parameters
    ----------
    more
        definitions for the end of the file.
    """
    declarations = [f"{main.declaration};\n" for main in mains]
    return source_file(interface, [*declarations, print_entry_points(interface, mains), *more])


def _pool_address(interface: Interface, name: str) -> str:
    """Return the address of a pool in the entry points of the C interface."""
    return pool_address(interface, next(p for p in interface.pools if p.name == name))


def _address(interface: Interface, tensor: IOTensor) -> str:
    """Return the address of a tensor that was planned into a workspace pool."""
    assert tensor.allocation is not None
    pool = _pool_address(interface, tensor.allocation.pool_info.pool_name)
    return f"((uint8_t*){pool} + {int(tensor.allocation.byte_offset)})"


def _map_definitions(interface: Interface, entry: EntryInterface) -> list[str]:
    if not entry.has_workspace_io:
        return []
    definitions = []
    for struct, tensors in (("inputs", entry.inputs), ("outputs", entry.outputs)):
        lines = [f"{map_declaration(interface, entry, struct)} {{"]
        # Initialize a struct with other members, such as a dummy member if there are no tensors.
        placed = [tensor for tensor in tensors if not tensor.is_by_rows]
        has_sizes = struct == "inputs" and bool(entry.sizes)
        is_whole = (bool(tensors) or has_sizes) and len(placed) == len(tensors)
        lines.append(f"  struct {entry.prefix}_{struct} places{'' if is_whole else ' = {0}'};")
        assignments = [f"  places.{t.c_name} = {_address(interface, t)};" for t in placed]
        lines += assignments
        if struct == "inputs":
            lines += _largest_sizes(interface, entry)
        if interface.external_pools and not any("workspace_pools->" in a for a in assignments):
            lines.append("  (void)workspace_pools;")
        lines += ["  return places;", "}\n"]
        definitions.append("\n".join(lines))
    return definitions


def _largest_sizes(interface: Interface, entry: EntryInterface) -> list[str]:
    """Return the statements that set the sizes in the struct of inputs to their upper bounds."""
    macros = [
        f"{interface.macro_prefix}_{size_macro(_owner(interface, entry), s)}_MAX"
        for s in entry.sizes
    ]
    return [
        f"  places.{size.c_name} = {macro};"
        for size, macro in zip(entry.sizes, macros, strict=True)
    ]


def _owner(interface: Interface, entry: EntryInterface) -> str:
    """Return the name of an entry in macros; empty if macros do not contain it."""
    return "" if interface.has_only_main else entry.name


def _run_definition(interface: Interface, entry: EntryInterface, main: MainFunction) -> str:
    """Return the run function, which passes tensors and pools to the main function of the entry."""
    lines = [f"{run_declaration(interface, entry)} {{"]
    lines += size_checks(entry, interface.macro_prefix, _owner(interface, entry))
    lines += pool_checks(interface, entry)
    arguments = []
    for struct, tensors in (("inputs", entry.inputs), ("outputs", entry.outputs)):
        arguments += [
            f"&{handle(struct, tensor)}" if tensor.is_by_rows else f"{struct}->{tensor.c_name}"
            for tensor in tensors
            if tensor.is_by_rows or not entry.has_workspace_io
        ]
        is_used = bool(tensors) or (struct == "inputs" and bool(entry.sizes))
        if struct in entry.tensor_structs and not is_used:
            lines.append(f"  (void){struct};")
    lines += handles_of_rows(entry)
    if interface.external_pools and all(pool.is_internal for pool in entry.pools):
        lines.append("  (void)workspace_pools;")
    if interface.devices and not entry.devices:
        lines.append("  (void)devices;")
    arguments += [f"inputs->{size.c_name}" for size in entry.sizes]
    arguments += [f"devices->{device}" for device in entry.devices]
    arguments += ["arena"] if entry.takes_arena else []
    arguments += [_pool_address(interface, pool.name) for pool in entry.pools]
    # Check callbacks first, because their failure precedes any other failure of the run.
    checked = "\n  if (rows_status != 0) return rows_status;" if entry.by_rows else ""
    lines += [main.call(arguments, checked), "  return 0;", "}\n"]
    return "\n".join(lines)


def _reset_definition(interface: Interface) -> list[str]:
    """Return the reset function. It zeros the states, because a run that finds zeros initializes
    them."""
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
