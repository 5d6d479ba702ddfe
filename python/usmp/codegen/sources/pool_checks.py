"""Checks at the start of a run that pools are at the addresses that the plan was made for."""

from __future__ import annotations

from usmp.codegen.interface.entry_interface import EntryInterface
from usmp.codegen.interface.module_interface import Interface
from usmp.codegen.interface.pool_parameter import PoolParameter
from usmp.codegen.sources.pools import internal_pool_address
from usmp.plain.c_interface import ANY_ADDRESS_MACRO

ERROR_POOL = -4
"""Status of a run if a pool is at another address than planned."""
ERROR_POOL_MACRO = "ERROR_POOL"
"""Name of the macro for `ERROR_POOL`, after the module's prefix."""


def pool_address(interface: Interface, pool: PoolParameter) -> str:
    """Return the address of offset 0 of a pool, in the entry points of the C interface."""
    if pool.is_internal:
        return internal_pool_address(interface, pool)
    if not pool.first_byte:
        return f"workspace_pools->{pool.c_name}"
    memory = f"({_const(pool)}uint8_t*)workspace_pools->{pool.c_name}"
    return f"({memory} + {pool.first_byte})"


def has_checks(interface: Interface) -> bool:
    """Return whether a run may return `ERROR_POOL`; packed functions check nothing."""
    entries = [] if interface.is_packed else interface.entries
    return any(_is_checked(pool) for entry in entries for pool in entry.pools)


def pool_checks(interface: Interface, entry: EntryInterface) -> list[str]:
    """Return the statements that end a run if a pool is at another address than planned."""
    lines: list[str] = []
    exact: list[str] = []
    error = f"{interface.macro_prefix}_{ERROR_POOL_MACRO}"
    for pool in filter(_is_checked, entry.pools):
        address = f"(uintptr_t){pool_address(interface, pool)}"
        lines.append(f"  if ({address} % {pool.alignment_bytes}u != 0u) return {error};")
        if pool.first_address is not None:
            place = f"UINT64_C(0x{pool.first_address:x})"
            exact.append(f"  if ({address} != {place}) return {error};")
    if exact:
        lines += [f"#ifndef {ANY_ADDRESS_MACRO}", *exact, "#endif"]
    return lines


def _is_checked(pool: PoolParameter) -> bool:
    """Return whether a run checks the pool's address: the user gave it a place or an alignment."""
    has_place = pool.address is not None or bool(pool.pool_offset)
    return not pool.is_empty and (has_place or bool(pool.line_bytes))


def _const(pool: PoolParameter) -> str:
    return "const " if pool.is_constant else ""
