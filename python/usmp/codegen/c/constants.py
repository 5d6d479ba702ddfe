"""Constant pools as C data: a struct with one typed array for each constant."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from usmp.codegen.c.literals import element_literals
from usmp.codegen.c.names import Scope
from usmp.codegen.c.small_floats import as_integers
from usmp.codegen.c.types import c_type, is_small_float
from usmp.objects import AllocatedPoolInfo, ConstantInfo, ConstantPoolInfo

_LINE_LENGTH = 98


def print_constant_pool(pool: AllocatedPoolInfo, name: str, attributes: str) -> str:
    """Return the C definition of an internal constant pool, with the compiler's `attributes`.

    Every byte of the pool belongs to a member, so that the compiler adds no padding and the
    offsets are those of the plan. Typed members make the text independent of the byte order.
    """
    members: list[str] = []
    values: list[str] = []
    scope = Scope()
    size = struct_size_bytes(pool)
    for info, gap in _with_gaps(pool, size):
        if gap:
            members.append(f"  uint8_t {scope.unique('padding')}[{gap}];")
            values.append("  {0},")
        if info is not None:
            data = _array(info)
            members.append(
                f"  {c_type(str(info.data.dtype))} {scope.unique(info.name_hint)}[{data.size}];"
                f"  /* {data.nbytes} bytes at {info.byte_offset} */"
            )
            values.append("  {\n" + _values(data, str(info.data.dtype)) + "\n  },")
    struct = "\n".join(members)
    content = "\n".join(values)
    declared = f"static const struct {{\n{struct}\n}} {name} {attributes}"
    return f"{declared} = {{\n{content}\n}};\n"


def constant_pool_bytes(pool: AllocatedPoolInfo) -> bytes:
    """Return the content of a constant pool, little-endian, with zeros in gaps."""
    content = bytearray(pool.allocated_size)
    for info in _constants(pool):
        data = _array(info)
        raw = data.astype(data.dtype.newbyteorder("<"), copy=False).tobytes()
        content[info.byte_offset : info.byte_offset + len(raw)] = raw
    return bytes(content)


def struct_size_bytes(pool: AllocatedPoolInfo) -> int:
    """Return the bytes of the pool's struct: a multiple of the size of its largest element.

    At least 1, because empty constants are no members, and C has no struct without members.
    """
    arrays = [_array(info) for info in _constants(pool)]
    unit = max((array.itemsize for array in arrays if array.size > 0), default=1)
    return max(-(-int(pool.allocated_size) // unit) * unit, 1)


def _constants(pool: AllocatedPoolInfo) -> list[ConstantInfo]:
    assert isinstance(pool.pool_info, ConstantPoolInfo)
    return list(pool.pool_info.constant_info_array)


def _array(info: ConstantInfo) -> np.ndarray:
    data: Any = info.data
    array: np.ndarray = data.numpy()
    return array


def _with_gaps(pool: AllocatedPoolInfo, size: int) -> Iterator[tuple[ConstantInfo | None, int]]:
    """Yield the constants in address order, each with the bytes of the gap before it.

    A gap at the end of the struct comes last, with None as its constant.
    """
    end = 0
    for info in _constants(pool):
        if _array(info).size > 0:
            yield info, info.byte_offset - end
            end = info.byte_offset + _array(info).nbytes
    if end < size:
        yield None, size - end


def _values(data: np.ndarray, dtype: str) -> str:
    """Return the elements as initializers, in lines as long as allowed."""
    small = is_small_float(dtype)
    words = (
        element_literals(as_integers(data), "uint16") if small else element_literals(data, dtype)
    )
    lines: list[str] = []
    line = ""
    for word in words:
        if len(line) + len(word) + 2 > _LINE_LENGTH:
            lines.append(line)
            line = ""
        line += f"{' ' if line else '    '}{word},"
    lines.append(line)
    return "\n".join(lines)
