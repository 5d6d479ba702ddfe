"""The packed interface: functions of tvm-ffi that TVM's runtime loads from a shared library.

Source: tvm-ffi's C API (`tvm/ffi/c_api.h`, `TVMFFISafeCallType`). Arguments are tensors: the
inputs, then the outputs, which are written, then the external pools, as bytes.
"""

from __future__ import annotations

from dataclasses import dataclass

import tvm

from usmp.codegen.c_entry_points import MainFunction, print_preamble
from usmp.codegen.c_files import text_of
from usmp.codegen.c_pools import internal_pool_address, print_internal_pools
from usmp.codegen.c_text import c_string, quoted
from usmp.codegen.interface import Interface, IOTensor, PoolParameter

SYMBOL_PREFIX = "__tvm_ffi_"
"""What tvm-ffi puts before the name of a function to find its symbol."""

_CODES = {"bool": "kDLBool", "uint": "kDLUInt", "int": "kDLInt", "float": "kDLFloat"}


@dataclass(frozen=True)
class _Argument:
    """One argument of the packed function; `shape` is None for a pool."""

    name: str
    type: str
    shape: list[int] | None
    dtype: str
    alignment_bytes: int
    size_bytes: int


def print_packed_source(interface: Interface, main: MainFunction) -> str:
    """The C11 source of the packed functions around `main`, which another source defines."""
    tensors = [*interface.inputs, *interface.outputs]
    arguments = [
        *(_tensor(tensor, "input") for tensor in interface.inputs),
        *(_tensor(tensor, "output") for tensor in interface.outputs),
        *(_pool(pool) for pool in interface.external_pools),
    ]
    parts = [
        print_preamble(interface),
        "#include <stdio.h>\n#include <tvm/ffi/c_api.h>\n",
        f"{main.declaration};\n",
        *print_internal_pools(interface),
        text_of("packed_arguments.c"),
        *_table(arguments),
        _function(
            interface,
            "run",
            "arguments" if arguments else "0",
            len(arguments),
            main.call(
                [f"addresses[{index}]" for index in range(len(tensors))]
                + [_pool_address(interface, pool, len(tensors)) for pool in interface.pools]
            ),
        ),
    ]
    if interface.states:
        first = f"&arguments[{len(tensors)}]" if interface.external_pools else "0"
        body = "\n".join(
            f"  memset((uint8_t*){_state_pool(interface, str(state.pool_name))} + "
            f"{int(state.byte_offset)}, 0, {int(state.size_bytes)});"
            for state in interface.states
        )
        parts.append(_function(interface, "reset", first, len(interface.external_pools), body))
    return "\n".join(parts)


def _tensor(tensor: IOTensor, what: str) -> _Argument:
    dtype, shape = str(tensor.info.dtype), [int(extent) for extent in tensor.info.shape]
    itemsize = int(tvm.DataType(dtype).itemsize)
    name = f"{what} {quoted(tensor.info.name)}"
    return _Argument(name, f"{dtype}{shape}", shape, dtype, itemsize, tensor.info.size_bytes)


def _pool(pool: PoolParameter) -> _Argument:
    name, size = f"{pool.kind} pool {quoted(pool.name)}", pool.size_bytes
    return _Argument(name, f"uint8[{size}] or more", None, "uint8", pool.alignment_bytes, size)


def _table(arguments: list[_Argument]) -> list[str]:
    """The arguments as constant data."""
    if not arguments:
        return []
    shapes = [
        # A scalar has no extent; C has no array without elements.
        f"static const int64_t shape_{index}[] = {{{', '.join(map(str, argument.shape or [1]))}}};"
        for index, argument in enumerate(arguments)
        if argument.shape is not None
    ]
    rows = [_row(index, argument) for index, argument in enumerate(arguments)]
    table = "static const struct tvmgen_argument arguments[] = {\n" + "\n".join(rows) + "\n};\n"
    return ["\n".join([*shapes, table])]


def _row(index: int, argument: _Argument) -> str:
    kind = argument.dtype.rstrip("0123456789")
    shape = "0" if argument.shape is None else f"shape_{index}"
    values = [
        c_string(argument.name),
        c_string(f" must be {argument.type}, not "),
        shape,
        str(len(argument.shape or [])),
        _CODES[kind],
        str(int(tvm.DataType(argument.dtype).itemsize) * 8),
        str(argument.alignment_bytes),
        str(argument.size_bytes),
    ]
    return f"    {{{', '.join(values)}}},"


def _pool_address(interface: Interface, pool: PoolParameter, first: int) -> str:
    """The address of a pool, whose external ones are the arguments from `first` on."""
    if not pool.is_internal:
        return f"addresses[{first + interface.external_pools.index(pool)}]"
    return internal_pool_address(interface, pool)


def _state_pool(interface: Interface, name: str) -> str:
    return _pool_address(interface, next(p for p in interface.pools if p.name == name), 0)


def _function(interface: Interface, name: str, table: str, count: int, body: str) -> str:
    """A packed function that checks its arguments, then does what `body` says."""
    parameters = "void* self, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result"
    head = f"int {SYMBOL_PREFIX}{interface.prefix}_{name}({parameters})"
    function = f'"{interface.prefix}_{name}"'
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
