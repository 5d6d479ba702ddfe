"""Print the C file that provides the memory of the application as static arrays."""

from __future__ import annotations

from math import prod

from usmp.codegen.c.types import c_type
from usmp.device.c_names import (
    external_pools,
    has_devices,
    has_own_tensors,
    pool_macro,
    tensors_of,
)
from usmp.runtime.archived.entry import ArchivedEntry, ArchivedTensor
from usmp.runtime.archived.module import ArchivedModule
from usmp.runtime.archived.pool import ArchivedPool

_ROLES = (("inputs", "input"), ("outputs", "output"))


def print_memory(module: ArchivedModule) -> str:
    """Return the C file with inputs, outputs, external pools, and handles of accelerators."""
    prefix = module.c_prefix
    parts = [
        "/* What the model takes from the application. An application that has memory of its own\n"
        " * for it leaves this file out, and defines the functions itself. */\n"
        f'#include "{prefix}_device.h"\n'
    ]
    if has_own_tensors(module):
        parts += [_tensors(module), *(_finder(module, *role) for role in _ROLES)]
    if external_pools(module):
        parts.append(_pools(module))
    if has_devices(module):
        parts.append(
            "/* Null pointers, if your functions for accelerators need none. */\n"
            f"struct {prefix}_devices* {prefix}_device_handles(void) {{\n"
            f"  static struct {prefix}_devices handles;\n"
            "  return &handles;\n"
            "}\n"
        )
    return "\n".join(parts)


def _tensors(module: ArchivedModule) -> str:
    """Return a union of the arrays of all entries, because only one entry runs at a time."""
    lines = ["/* Entries run one after the other. */", "static union {"]
    for number, entry in enumerate(module.entries.values()):
        members = [
            f"    {c_type(str(tensor.info.dtype))} {name}_{index}[{max(_elements(tensor), 1)}];"
            for what, name in _ROLES
            for index, tensor in enumerate(tensors_of(entry, what))
            if tensor.pool_name is None
        ]
        if members:
            lines += ["  struct {", *members, f"  }} entry_{number};"]
    return "\n".join([*lines, "} tensors;\n"])


def _elements(tensor: ArchivedTensor) -> int:
    return prod(int(extent) for extent in tensor.info.shape)


def _finder(module: ArchivedModule, what: str, name: str) -> str:
    """Return the function that returns the address of an input or output."""
    tables, rows = [], []
    for number, entry in enumerate(module.entries.values()):
        places = _places(entry, number, what, name)
        tables.append(f"  static void* const entry_{number}[] = {{{', '.join(places) or '0'}}};")
        rows.append(f"entry_{number}")
    return "\n".join(
        [
            f"void* {module.c_prefix}_device_{name}(uint32_t entry, uint32_t index) {{",
            *tables,
            f"  static void* const* const entries[] = {{{', '.join(rows)}}};",
            "  return entries[entry][index];",
            "}\n",
        ]
    )


def _places(entry: ArchivedEntry, number: int, what: str, name: str) -> list[str]:
    return [
        f"tensors.entry_{number}.{name}_{index}" if tensor.pool_name is None else "0"
        for index, tensor in enumerate(tensors_of(entry, what))
    ]


def _pools(module: ArchivedModule) -> str:
    prefix, pools = module.c_prefix, external_pools(module)
    members = [f"      {_member(module, pool)}," for pool in pools]
    # If an array omits the bytes before the plan, reduce its address by these bytes at run time.
    reduced = [
        f"  pools.{pool.c_name} = (const void*)((uintptr_t)pool_{pool.c_name} - "
        f"{pool_macro(module, pool)}_OFFSET);"
        for pool in pools
        if _is_plan_alone(pool)
    ]
    return "\n".join(
        [
            *(_pool(module, pool) for pool in pools if _has_array(pool)),
            f"struct {prefix}_workspace_pools* {prefix}_device_pools(void) {{",
            f"  static struct {prefix}_workspace_pools pools = {{",
            *members,
            "  };",
            *reduced,
            "  return &pools;",
            "}\n",
        ]
    )


def _has_array(pool: ArchivedPool) -> bool:
    """Return whether the program defines an array for a pool with buffers: constants always have
    an array, which the linker places; a workspace has one if its address is unknown."""
    return not pool.is_empty and (pool.is_constant or pool.address is None)


def _is_plan_alone(pool: ArchivedPool) -> bool:
    """Return whether the array of a pool leaves out the bytes before the plan, because an image of
    the program must not overwrite them."""
    return _has_array(pool) and pool.is_constant and pool.first_byte > 0


def _member(module: ArchivedModule, pool: ArchivedPool) -> str:
    if pool.is_empty or _is_plan_alone(pool):
        return "0"
    if _has_array(pool):
        return f"pool_{pool.c_name}"
    return f"(void*)(uintptr_t){pool_macro(module, pool)}_ADDRESS"


def _pool(module: ArchivedModule, pool: ArchivedPool) -> str:
    """Return the array of a pool, with the section and the alignment in the header."""
    macro, const = pool_macro(module, pool), "const " if pool.is_constant else ""
    content = f" = {{{macro}_DATA}}" if pool.is_constant and pool.size_bytes else ""
    array = f"static {const}uint8_t pool_{pool.c_name}"
    if _is_plan_alone(pool):
        return (
            f"{macro}_ATTRIBUTES __attribute__((aligned({pool.alignment_bytes})))\n"
            f"{array}[{max(pool.size_bytes, 1)}]{content};\n"
        )
    size = f"{macro}_SIZE" if pool.size_bytes else "1"
    return f"{macro}_ATTRIBUTES\n{array}[{size}]{content};\n{macro}_ASSERT(pool_{pool.c_name});\n"
