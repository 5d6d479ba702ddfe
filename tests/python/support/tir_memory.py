"""Memory of TIR programs: how the elements of buffers lie in it, and how they are read and written.

Memory that was never written has no value, and reading it is an error, as is writing a constant, an
access that is not aligned, or one outside of its memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial, reduce
from operator import add, mul

from tvm import tirx

from support.tir_arithmetic import Value, element_type, from_bits, lanewise, to_bits

CONSTANT_DATA = "constant_data"
"""The annotation of an AllocBuffer that holds a constant: its content."""


@dataclass(frozen=True)
class Pointer:
    """A byte of some memory, which starts aligned for every type.

    A `None` in the memory is a byte that was never written; a tuple is memory that nobody may
    write.
    """

    memory: list[int | None] | tuple[int, ...]
    offset: int = 0


class Memory:
    """Reads and writes elements of buffers."""

    def __init__(self) -> None:
        self.layouts: dict[tirx.Var, _Layout] = {}

    def index(self, buffer: tirx.Var, indices: list[Value]) -> Value:
        """The index of an element among all elements of the buffer's memory."""
        layout = self.layout(buffer)
        if layout.strides is None:
            return indices[0]
        products = [lanewise(mul, i, s) for i, s in zip(indices, layout.strides, strict=True)]
        return lanewise(add, layout.offset, reduce(partial(lanewise, add), products))

    def layout(self, buffer: tirx.Var) -> _Layout:
        """How the elements of a buffer lie."""
        if buffer not in self.layouts:
            self.layouts[buffer] = _layout(buffer)
        return self.layouts[buffer]

    def store_element(self, address: Pointer, buffer: tirx.Var, index: int, value: Value) -> None:
        """Write an element of a buffer."""
        layout = self.layout(buffer)
        self.store(address, index, layout.itemsize, to_bits(value, layout.dtype))

    def load_element(self, address: Pointer, buffer: tirx.Var, index: int) -> Value:
        """Read an element of a buffer."""
        layout = self.layout(buffer)
        return from_bits(self.load(address, index, layout.itemsize), layout.dtype)

    def store(self, address: Pointer, index: int, itemsize: int, value: int) -> None:
        """Write the bits of an element."""
        assert isinstance(address.memory, list), "write to a constant"
        span = _span(address, index, itemsize)
        wrapped = value % (1 << (8 * itemsize))
        address.memory[span] = wrapped.to_bytes(itemsize, "little")

    def load(self, address: Pointer, index: int, itemsize: int) -> int:
        """Read the bits of an element, as a signed integer."""
        found = address.memory[_span(address, index, itemsize)]
        assert None not in found, "read of memory that was never written"
        return int.from_bytes(bytes(found), "little", signed=True)


def allocate(stmt: tirx.AllocBuffer) -> Pointer:
    """The memory of a buffer; that of a constant has its content."""
    if CONSTANT_DATA in stmt.annotations:
        return Pointer(tuple(stmt.annotations[CONSTANT_DATA].numpy().tobytes()))
    count = 1
    for extent in stmt.buffer.shape:
        count *= int(extent)
    return Pointer([None] * (count * element_type(str(stmt.buffer.dtype))[1] // 8))


def _span(address: Pointer, index: int, itemsize: int) -> slice:
    start = address.offset + index * itemsize
    assert 0 <= start <= len(address.memory) - itemsize, "access outside of memory"
    assert start % itemsize == 0, "access is not aligned"
    return slice(start, start + itemsize)


def advance(address: Pointer, count: int) -> Pointer:
    """The address so many bytes later."""
    return Pointer(address.memory, address.offset + count)


@dataclass(frozen=True)
class _Layout:
    """How the elements of a buffer lie; without `strides` an index is that of the element."""

    dtype: str
    itemsize: int
    strides: list[int] | None
    offset: int


def _layout(buffer: tirx.Var) -> _Layout:
    strides = [int(stride) for stride in buffer.ty.strides]
    offset = int(buffer.ty.elem_offset or 0)
    if not strides and (len(buffer.shape) > 1 or offset):
        strides = [1]
        for extent in reversed(buffer.shape[1:]):
            strides.insert(0, strides[0] * int(extent))
    dtype = str(buffer.dtype)
    return _Layout(dtype, element_type(dtype)[1] // 8, strides or None, offset)
