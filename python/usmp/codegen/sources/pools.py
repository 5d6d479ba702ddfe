"""Internal pools as C arrays, with assertions of the size and alignment that the plan needs."""

from __future__ import annotations

from usmp.codegen.c.constants import print_constant_pool, struct_size_bytes
from usmp.codegen.c.names import Scope
from usmp.codegen.c.source_files import text_of
from usmp.codegen.interface.module_interface import Interface
from usmp.codegen.interface.pool_parameter import PoolParameter
from usmp.codegen.sources.row_callbacks import adapter_symbols


def entry_point_symbols(interface: Interface) -> list[str]:
    """Return the names of the functions that an application may call or define."""
    names = ("run", "reset", "map_inputs", "map_outputs")
    prefixes = dict.fromkeys([interface.prefix, *(entry.prefix for entry in interface.entries)])
    functions = [f"{prefix}_{name}" for prefix in prefixes for name in names]
    return [*functions, *interface.operator_hooks]


def taken_symbols(interface: Interface) -> list[str]:
    """Return the names that no operator may have: entry points, pools, adapters and assertions."""
    assertions = [name for pool in _used(interface) for name in _assertion_names(interface, pool)]
    adapters = [symbol for entry in interface.entries for symbol in adapter_symbols(entry)]
    symbols = [*entry_point_symbols(interface), *_pool_symbols(interface)]
    return [*symbols, *adapters, *assertions]


def pool_symbol(interface: Interface, pool: PoolParameter) -> str:
    """Return the symbol of an internal pool; the prefix makes it unique."""
    return _pool_symbols(interface)[interface.pools.index(pool)]


def internal_pool_address(interface: Interface, pool: PoolParameter) -> str:
    """Return the address of an internal pool: constants are a struct, a workspace is an array."""
    return f"{'&' if pool.is_constant else ''}{pool_symbol(interface, pool)}"


def print_internal_pools(interface: Interface) -> list[str]:
    """Return the definitions of the internal pools, and the assertions about all pools.

    Empty pools are left out, because C has no arrays of 0 bytes.
    """
    pools = _used(interface)
    internal = [pool for pool in pools if pool.is_internal]
    sections = (
        [text_of("macros/section_macro.h")] if any(pool.section_name for pool in internal) else []
    )
    definitions = [_definition(interface, pool) for pool in internal]
    assertions = [line for pool in pools for line in _assertions(interface, pool)]
    aligned = [_is_aligned(interface, pool) for pool in internal]
    if aligned:
        assertions += ["#if defined(__GNUC__) || defined(__clang__)", *aligned, "#endif"]
    return [*sections, *definitions, *(["\n".join(assertions) + "\n"] if assertions else [])]


def _used(interface: Interface) -> list[PoolParameter]:
    return [pool for pool in interface.pools if not pool.is_empty]


def _pool_symbols(interface: Interface) -> list[str]:
    """Return the symbols of the pools, which are unique and differ from functions in the header."""
    functions = [str(function.symbol) for function in interface.accelerator_functions]
    scope = Scope([*entry_point_symbols(interface), *functions])
    return [scope.symbol(interface.prefix, pool.c_name) for pool in interface.pools]


def _definition(interface: Interface, pool: PoolParameter) -> str:
    symbol, attributes = pool_symbol(interface, pool), f"TVMGEN_ALIGNED({pool.alignment_bytes})"
    if pool.section_name:
        attributes += f' TVMGEN_SECTION("{pool.section_name}")'
    if pool.is_constant:
        return print_constant_pool(pool.info, symbol, attributes)
    return f"static uint8_t {symbol}[{_size_bytes(pool)}] {attributes};\n"


def _size_bytes(pool: PoolParameter) -> int:
    """Return the bytes of the object in C: a struct is padded, an array has at least 1 byte."""
    return struct_size_bytes(pool.info) if pool.is_constant else max(pool.size_bytes, 1)


def _assertion_names(interface: Interface, pool: PoolParameter) -> list[str]:
    """Return the names of the assertions about a pool: size, size hint, alignment, address."""
    scope = Scope([*entry_point_symbols(interface), *_pool_symbols(interface)])
    prefix = f"{interface.prefix}_{pool.c_name}"
    asserted = ("has_size", "is_within_size_hint", "is_aligned")
    return [
        scope.symbol(prefix, name)
        for name in (*asserted, *(() if _least_end(pool) is None else ("has_address",)))
    ]


def _assertions(interface: Interface, pool: PoolParameter) -> list[str]:
    has_size, is_within_hint, _, *has_address = _assertion_names(interface, pool)
    size, lines = f"{interface.macro_prefix}_{pool.macro_name}_SIZE", []
    if pool.is_internal:
        size = f"sizeof({pool_symbol(interface, pool)})"
        lines.append(f"TVMGEN_STATIC_ASSERT({size} == {_size_bytes(pool)}, {has_size});")
    if pool.size_hint_bytes is not None:
        hint = _checked_hint(pool, pool.size_hint_bytes)
        hint += 0 if pool.is_internal else pool.pool_offset
        lines.append(f"TVMGEN_STATIC_ASSERT({size} <= {hint}, {is_within_hint});")
    last = _least_end(pool)
    if last is not None:
        known = f"UINT64_C(0x{last:x})"
        lines.append(f"TVMGEN_STATIC_ASSERT({known} <= UINTPTR_MAX, {has_address[0]});")
    return lines


def _least_end(pool: PoolParameter) -> int | None:
    """Return the lowest possible address of the plan's last byte, if the user gave the pool a
    place. An assertion checks that the machine has this address."""
    if pool.address is None and (pool.is_internal or not pool.first_byte):
        return None
    return (pool.address or 0) + pool.first_byte + max(pool.size_bytes, 1) - 1


def _checked_hint(pool: PoolParameter, hint: int) -> int:
    if pool.is_internal and _size_bytes(pool) > hint:
        raise ValueError(
            f'{pool.kind} pool "{pool.name}" takes {_size_bytes(pool)} bytes as a C object, since '
            f"C rounds its {pool.size_bytes} bytes up, but its size hint is {hint}; "
            f"give it {_size_bytes(pool)}"
        )
    return hint


def _is_aligned(interface: Interface, pool: PoolParameter) -> str:
    name = _assertion_names(interface, pool)[2]
    symbol = pool_symbol(interface, pool)
    # `__extension__`, because pedantic compilers warn that `__alignof__` is not in C99.
    alignment = f"__extension__ __alignof__({symbol})"
    return f"TVMGEN_STATIC_ASSERT({alignment} >= {pool.alignment_bytes}, {name});"
