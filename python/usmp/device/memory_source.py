"""Print the C files that provide the memory of the application as static arrays."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import numpy as np

from usmp.codegen.c.types import c_type
from usmp.device.c_names import (
    external_pools,
    has_devices,
    own_inputs,
    own_outputs,
    pool_macro,
    read_only_inputs,
)
from usmp.runtime.archived.entry import ArchivedTensor
from usmp.runtime.archived.module import ArchivedModule
from usmp.runtime.archived.pool import ArchivedPool

_Tensors = Mapping[str, list[dict[int, ArchivedTensor]]]
"""The tensors of each entry, by index, for each function that returns their addresses."""


def print_memory(module: ArchivedModule) -> str:
    """Return the C file with outputs, inputs that runs write, external pools, and handles of
    accelerators."""
    prefix = module.c_prefix
    parts = [
        "/* What the model takes from the application. An application that has memory of its own\n"
        " * for it leaves this file out, and defines the functions itself. */\n"
        f'#include "{prefix}_device.h"\n',
        *_arrays(module, _own_tensors(module)),
    ]
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


def print_serial_memory(module: ArchivedModule) -> str:
    """Return the C file with inputs that a host writes, and that are constants in a self test."""
    return "\n".join(
        [
            "/* Where a host writes inputs. An application that has memory of its own for them\n"
            " * leaves this file out, and defines the function itself. */\n"
            f'#include "{module.c_prefix}_device.h"\n',
            *_arrays(module, _host_inputs(module)),
        ]
    )


def own_bytes(module: ArchivedModule) -> int:
    """Return the bytes of the arrays of inputs and outputs in the file of `print_memory`."""
    return _bytes(_own_tensors(module))


def host_input_bytes(module: ArchivedModule) -> int:
    """Return the bytes of the arrays in the file of `print_serial_memory`."""
    return _bytes(_host_inputs(module))


def _own_tensors(module: ArchivedModule) -> _Tensors:
    entries = module.entries.values()
    return {
        "device_input": [own_inputs(entry) for entry in entries],
        "device_output": [own_outputs(entry) for entry in entries],
    }


def _host_inputs(module: ArchivedModule) -> _Tensors:
    return {"serial_input": [read_only_inputs(entry) for entry in module.entries.values()]}


def _arrays(module: ArchivedModule, tensors: _Tensors) -> list[str]:
    """Return a union of the arrays of all entries, because only one entry runs at a time, and the
    functions that return their addresses."""
    if not _bytes(tensors):
        return []
    lines = ["/* Entries run one after the other. */", "static union {"]
    for number, members in enumerate(_by_entry(tensors)):
        if members:
            arrays = [f"    {c_type(_dtype(t))} {name}[{_elements(t)}];" for name, t in members]
            lines += ["  struct {", *arrays, f"  }} entry_{number};"]
    union = "\n".join([*lines, "} tensors;\n"])
    return [
        union,
        *(_finder(module, name, entries) for name, entries in tensors.items() if any(entries)),
    ]


def _by_entry(tensors: _Tensors) -> list[list[tuple[str, ArchivedTensor]]]:
    """Return the name and the tensor of each array of an entry, without padding in between."""
    named = [
        [
            (_array(function, index), t)
            for function, own in zip(tensors, both, strict=True)
            for index, t in own.items()
        ]
        for both in zip(*tensors.values(), strict=True)
    ]
    return [sorted(members, key=lambda member: -_alignment(member[1])) for members in named]


def _bytes(tensors: _Tensors) -> int:
    """Return the bytes of the union: of the largest entry, aligned for its elements."""
    entries = [[tensor for _, tensor in members] for members in _by_entry(tensors)]
    alignment = max((_alignment(t) for entry in entries for t in entry), default=1)
    sizes = [sum(_elements(t) * _alignment(t) for t in entry) for entry in entries]
    return -(-max(sizes) // alignment) * alignment


def _dtype(tensor: ArchivedTensor) -> str:
    return str(tensor.info.dtype)


def _alignment(tensor: ArchivedTensor) -> int:
    return np.dtype(_dtype(tensor)).itemsize


def _elements(tensor: ArchivedTensor) -> int:
    """Return the elements of an array: at least one, because C requires one."""
    return max(prod(int(extent) for extent in tensor.info.shape), 1)


def _array(function: str, index: int) -> str:
    return f"{function.split('_')[1]}_{index}"


def _finder(module: ArchivedModule, function: str, entries: list[dict[int, ArchivedTensor]]) -> str:
    """Return the function that returns the address of an input or output."""
    tables, rows = [], []
    for number, tensors in enumerate(entries):
        places = [
            f"tensors.entry_{number}.{_array(function, index)}" if index in tensors else "0"
            for index in range(max(tensors, default=0) + 1)
        ]
        tables.append(f"  static void* const entry_{number}[] = {{{', '.join(places)}}};")
        rows.append(f"entry_{number}")
    return "\n".join(
        [
            f"void* {module.c_prefix}_{function}(uint32_t entry, uint32_t index) {{",
            *tables,
            f"  static void* const* const entries[] = {{{', '.join(rows)}}};",
            "  return entries[entry][index];",
            "}\n",
        ]
    )


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
