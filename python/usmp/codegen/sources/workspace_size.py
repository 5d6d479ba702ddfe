"""The C functions that return the bytes that workspace pools need for given sizes."""

from __future__ import annotations

from collections.abc import Mapping

from tvm import tirx

from usmp.analysis.memory.facts import facts_of_functions
from usmp.codegen.c.function import print_function
from usmp.codegen.c.helpers import Helpers
from usmp.codegen.c.text import comment, quoted
from usmp.codegen.interface.entry_sizes import ERROR_SIZE_MACRO
from usmp.codegen.interface.module_interface import Interface
from usmp.codegen.interface.workspace_sizes import WorkspaceSize
from usmp.codegen.sources.sizes import size_macro
from usmp.plain.entry_size import LARGEST_SIZE


def workspace_size_declarations(interface: Interface) -> list[str]:
    """Return the declarations in the header, with their comments."""
    declarations = []
    for pool in _computed(interface):
        sizes = ", ".join(size.c_name for size in interface.only_entry.sizes)
        text = [
            f"Bytes that a run needs of workspace pool {quoted(pool)}, from its start, for",
            f"{sizes}; {interface.macro_prefix}_{ERROR_SIZE_MACRO} if a size is out of its range",
        ]
        declarations.append(f"{comment(*text)}\n{_declaration(interface, pool)};\n")
    return declarations


def workspace_size_definitions(
    interface: Interface, functions: Mapping[str, tirx.PrimFunc], helpers: Helpers
) -> list[str]:
    """Return the functions, callees before callers.

    Parameters
    ----------
    functions
        PrimFuncs after LowerIntrin for target "c".
    helpers
        collects the helper functions that the code needs.
    """
    definitions = []
    for pool, need in _computed(interface).items():
        lines, bytes_ = [f"{_declaration(interface, pool)} {{"], "0"
        for size in interface.only_entry.sizes:
            macro = f"{interface.macro_prefix}_{size_macro('', size)}"
            lines += [
                f"  if ({size.c_name} < {macro}_MIN || {size.c_name} > {macro}_MAX) {{",
                f"    return {interface.macro_prefix}_{ERROR_SIZE_MACRO};",
                "  }",
            ]
        if need is not None:
            symbol = f"{_symbol(interface, pool)}_of"
            facts = facts_of_functions({need.function: functions[need.function]}).of(need.function)
            definitions.append(f"{print_function(facts, {need.function: symbol}, helpers)}\n")
            bytes_ = f"{symbol}({', '.join(size.c_name for size in interface.only_entry.sizes)})"
            bytes_ += _bytes_before(interface, pool)
        definitions.append("\n".join([*lines, f"  return {bytes_};", "}\n"]))
    return definitions


def _bytes_before(interface: Interface, name: str) -> str:
    """Return the term that adds the bytes of the memory before the plan."""
    pool = next(pool for pool in interface.pools if pool.name == name)
    if pool.memory_bytes == pool.size_bytes:
        return ""
    if pool.memory_bytes > LARGEST_SIZE:
        raise ValueError(
            f'workspace pool "{name}" ends at byte {pool.memory_bytes} of its memory, but sizes of '
            "workspaces are of 32 bits; give it an address behind its pool_offset"
        )
    return f" + {pool.first_byte}"


def _computed(interface: Interface) -> dict[str, WorkspaceSize | None]:
    """Return the required size of each workspace pool, if offsets are computed; None for empty
    pools."""
    if not interface.workspace_sizes:
        return {}
    empty = (pool for pool in interface.pools if pool.is_empty and not pool.is_constant)
    sizes = {size.pool: size for size in interface.workspace_sizes}
    return dict(sorted({**dict.fromkeys(pool.name for pool in empty), **sizes}.items()))


def _declaration(interface: Interface, pool: str) -> str:
    parameters = ", ".join(f"int32_t {size.c_name}" for size in interface.only_entry.sizes)
    return f"int32_t {_symbol(interface, pool)}({parameters})"


def _symbol(interface: Interface, name: str) -> str:
    if len(_computed(interface)) == 1:
        return f"{interface.prefix}_workspace_size"
    pool = next(pool for pool in interface.pools if pool.name == name)
    return f"{interface.prefix}_{pool.c_name}_workspace_size"
