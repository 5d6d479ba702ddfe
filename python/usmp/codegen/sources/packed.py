"""The packed interface: functions of tvm-ffi that TVM's runtime loads from a shared library.

Source: tvm-ffi's C API (`tvm/ffi/c_api.h`, `TVMFFISafeCallType`). Arguments are tensors: the
inputs, then the outputs, then the external pools as bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import tvm

from usmp.codegen.c.source_files import text_of
from usmp.codegen.c.text import c_string, quoted
from usmp.codegen.interface.entry_interface import EntryInterface, IOTensor
from usmp.codegen.interface.module_interface import Interface
from usmp.codegen.interface.pool_parameter import PoolParameter
from usmp.codegen.sources.entry_points import MainFunction, source_file
from usmp.codegen.sources.pools import internal_pool_address, print_internal_pools

SYMBOL_PREFIX = "__tvm_ffi_"
"""The prefix with which tvm-ffi finds the symbol of a function."""

_CODES = {
    "bfloat": "kDLBfloat",
    "bool": "kDLBool",
    "float": "kDLFloat",
    "int": "kDLInt",
    "uint": "kDLUInt",
}
"""Name of an element type without its number of bits -> type code of DLPack."""


@dataclass(frozen=True)
class _Argument:
    """An argument of a packed function; `shape` is None for a pool."""

    name: str
    type: str
    shape: list[int] | None
    dtype: str
    alignment_bytes: int
    size_bytes: int


def print_packed_source(
    interface: Interface, mains: Sequence[MainFunction], more: Iterable[str] = ()
) -> str:
    """Return the C11 source of the packed functions, which call the main functions of another
    source.

    Parameters
    ----------
    more
        definitions for the end of the file.
    """
    numbered = enumerate(zip(interface.entries, mains, strict=True))
    parts = [
        "#include <stdio.h>\n#include <tvm/ffi/c_api.h>\n",
        *(f"{main.declaration};\n" for main in mains),
        *print_internal_pools(interface),
        text_of("packed_arguments.c"),
        *(
            text
            for number, (entry, main) in numbered
            for text in _run(interface, entry, main, number)
        ),
    ]
    if interface.states:
        entry = interface.entries[0]
        first = len(entry.inputs) + len(entry.outputs)
        table = f"&{_table_name(interface, 0)}[{first}]" if interface.external_pools else "0"
        body = "\n".join(
            f"  memset((uint8_t*){_state_pool(interface, str(state.pool_name))} + "
            f"{int(state.byte_offset)}, 0, {int(state.size_bytes)});"
            for state in interface.states
        )
        name = f"{interface.prefix}_reset"
        parts.append(_function(name, table, len(interface.external_pools), body))
    return source_file(interface, [*parts, *more])


def _run(interface: Interface, entry: EntryInterface, main: MainFunction, number: int) -> list[str]:
    """Return the table of the arguments of an entry, then the function that runs the entry."""
    tensors = [*entry.inputs, *entry.outputs]
    arguments = [
        *(_tensor(tensor, "input") for tensor in entry.inputs),
        *(_tensor(tensor, "output") for tensor in entry.outputs),
        *(_pool(pool) for pool in interface.external_pools),
    ]
    table = _table_name(interface, number)
    shape = "shape" if interface.has_only_main else f"shape_{number}"
    passed = [f"addresses[{index}]" for index in range(len(tensors))]
    passed += [_pool_address(interface, pool, len(tensors)) for pool in entry.pools]
    return [
        *_table(arguments, table, shape),
        _function(
            f"{entry.prefix}_run", table if arguments else "0", len(arguments), main.call(passed)
        ),
    ]


def _table_name(interface: Interface, number: int) -> str:
    """Return the name of the table of an entry's arguments; no pool has such a name."""
    return "arguments" if interface.has_only_main else f"arguments_{number}"


def _tensor(tensor: IOTensor, role: str) -> _Argument:
    dtype, shape = str(tensor.info.dtype), [int(extent) for extent in tensor.info.shape]
    itemsize = int(tvm.DataType(dtype).itemsize)
    name = f"{role} {quoted(tensor.info.name)}"
    return _Argument(name, f"{dtype}{shape}", shape, dtype, itemsize, tensor.info.size_bytes)


def _pool(pool: PoolParameter) -> _Argument:
    name, size = f"{pool.kind} pool {quoted(pool.name)}", pool.memory_bytes
    alignment = 1 if pool.is_empty else pool.memory_alignment
    if alignment < pool.alignment_bytes and not pool.is_empty:
        raise ValueError(
            f'{pool.kind} pool "{pool.name}": TVM\'s runtime allocates what the packed interface '
            f"takes at addresses that are aligned to {pool.alignment_bytes} bytes, but the pool is "
            f"at 0x{pool.address:x}; leave out the address"
        )
    return _Argument(name, f"uint8[{size}] or more", None, "uint8", alignment, size)


def _table(arguments: list[_Argument], name: str, shape: str) -> list[str]:
    """Return the arguments as constant data; `shape` is the prefix of the names of shapes."""
    if not arguments:
        return []
    shapes = [
        # Give a scalar one extent, because C has no empty arrays.
        f"static const int64_t {shape}_{index}[] = "
        f"{{{', '.join(map(str, argument.shape or [1]))}}};"
        for index, argument in enumerate(arguments)
        if argument.shape is not None
    ]
    rows = [_row(f"{shape}_{index}", argument) for index, argument in enumerate(arguments)]
    table = f"static const struct tvmgen_argument {name}[] = {{\n" + "\n".join(rows) + "\n};\n"
    return ["\n".join([*shapes, table])]


def _row(shape_name: str, argument: _Argument) -> str:
    dtype = argument.dtype
    code = f"kDLFloat{dtype[5:]}" if "_" in dtype else _CODES[dtype.rstrip("0123456789")]
    shape = "0" if argument.shape is None else shape_name
    values = [
        c_string(argument.name),
        c_string(f" must be {argument.type}, not "),
        shape,
        str(len(argument.shape or [])),
        code,
        str(int(tvm.DataType(dtype).itemsize) * 8),
        str(argument.alignment_bytes),
        str(argument.size_bytes),
    ]
    return f"    {{{', '.join(values)}}},"


def _pool_address(interface: Interface, pool: PoolParameter, first: int) -> str:
    """Return the address of a pool; external pools are the arguments from index `first` on."""
    if pool.is_internal:
        return internal_pool_address(interface, pool)
    address = f"addresses[{first + interface.external_pools.index(pool)}]"
    return f"({address} + {pool.first_byte})" if pool.first_byte else address


def _state_pool(interface: Interface, name: str) -> str:
    return _pool_address(interface, next(p for p in interface.pools if p.name == name), 0)


def _function(name: str, table: str, count: int, body: str) -> str:
    """Return a packed function that checks its arguments, then runs the statements `body`."""
    parameters = "void* self, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result"
    head = f"int {SYMBOL_PREFIX}{name}({parameters})"
    function = f'"{name}"'
    lines = [
        f"TVM_FFI_DLL_EXPORT {head};\n",
        f"{head} {{",
        f"  uint8_t* addresses[{max(count, 1)}];",
        "  (void)self;",
        "  (void)result;",
        f"  if (tvmgen_check_all({function}, {table}, {count}, args, num_args, addresses) != 0) {{",
        "    return -1;",
        "  }",
        body,
        "  return 0;",
        "}\n",
    ]
    return "\n".join(lines)
