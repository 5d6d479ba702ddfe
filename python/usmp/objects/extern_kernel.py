"""Statements about functions outside of the module: their accesses and side effects.

Without a statement, such a function may read and write all memory of its pointer arguments in any
order, keep a state, and fail. The analysis trusts the statement of the author.
"""

from __future__ import annotations

from collections.abc import Iterable

import tvm_ffi
from tvm import tirx
from tvm_ffi.dataclasses import py_class

from usmp.objects.attributes.operator_attributes import EXTERN_KERNELS_ATTR
from usmp.objects.ffi_object import FFIObject


@py_class("usmp.KernelArgument")
class KernelArgument(FFIObject):
    """The accesses of a kernel to the memory of one of its pointer arguments.

    Parameters
    ----------
    name
        name in errors.
    size_bytes
        the kernel accesses only this many bytes, starting at the pointer.
    reads
        whether it may read.
    writes
        whether it may write.

    Raises
    ------
    ValueError
        the size is negative.
    """

    name: str
    size_bytes: int
    reads: bool = True
    writes: bool = True

    def __post_init__(self) -> None:
        """Raise if the size is negative."""
        self.check()

    def check(self) -> None:
        """Check that the size is not negative."""
        if self.size_bytes < 0:
            raise ValueError(
                f'argument "{self.name}" of an extern kernel has {self.size_bytes} bytes; '
                "state 0 or more"
            )


@py_class("usmp.SafeDistance")
class SafeDistance(FFIObject):
    """A safe overlap between an output of a kernel and an input that dies in it.

    Parameters
    ----------
    input
        index of an argument that the kernel reads.
    output
        index of an argument that the kernel writes.
    size_bytes
        the fewest bytes by which the output must start below the input to share bytes. A distance
        d states that when the kernel writes byte i of the output, it has read all bytes of the
        input up to i - d for the last time. With 0, the output may start at the address of the
        input or below. A kernel that is right only at the same address, such as one that begins
        with the last byte, has no safe distance. With the size of the output, no byte is shared.
    """

    input: int
    output: int
    size_bytes: int


@py_class("usmp.ExternKernel")
class ExternKernel(FFIObject):
    """A function outside of the module, as stated by its author.

    Parameters
    ----------
    symbol
        its name in `T.call_extern`.
    arguments
        accesses to its first arguments, all of them pointers; nothing is known of later arguments.
    safe_distances
        at most one for each pair of arguments; pairs without a distance share no bytes.
    can_fail
        whether it may end the run, so that later statements must stay after it.
    keeps_state
        whether it may access memory or devices besides its arguments, so that calls of such
        kernels must stay in order.

    Raises
    ------
    ValueError
        a distance that is negative or too large, or whose arguments do not exist or are not read
        and written.
    """

    symbol: str
    arguments: list[KernelArgument]
    safe_distances: list[SafeDistance] = tvm_ffi.dataclasses.field(default_factory=list)
    can_fail: bool = True
    keeps_state: bool = True

    def __post_init__(self) -> None:
        """Raise if a distance is invalid."""
        self.check()

    def check(self) -> None:
        """Check that all distances are valid, between an argument that is read and one written."""
        for argument in self.arguments:
            argument.check()
        pairs = set()
        for stated in self.safe_distances:
            read, written, size = int(stated.input), int(stated.output), int(stated.size_bytes)
            count = len(self.arguments)
            for index in (read, written):
                if not 0 <= index < count:
                    raise self._wrong(f"of argument {index}; it has {count} arguments")
            source, output = self.arguments[read], self.arguments[written]
            between = f'from input "{source.name}" to output "{output.name}"'
            if read == written:
                raise self._wrong(f"{between}, which are one argument; state it of two")
            if not source.reads or not output.writes:
                is_wrong = "is not read" if not source.reads else "is not written"
                raise self._wrong(f"{between}, of which one {is_wrong}")
            if not 0 <= size <= output.size_bytes:
                raise self._wrong(
                    f"of {size} bytes {between}, which has {output.size_bytes} bytes; "
                    f"state 0 to {output.size_bytes}"
                )
            if (read, written) in pairs:
                raise self._wrong(f"{between} twice; state one of them")
            pairs.add((read, written))

    def _wrong(self, detail: str) -> ValueError:
        return ValueError(f'extern kernel "{self.symbol}" states a safe distance {detail}')


def kernels_of(func: tirx.PrimFunc) -> dict[str, ExternKernel]:
    """Return the stated kernels that a PrimFunc calls, by symbol.

    Raises
    ------
    ValueError
        an invalid statement, or a symbol that is stated twice.
    """
    stated = EXTERN_KERNELS_ATTR.of(func)
    if stated is None:
        return {}
    for kernel in stated:
        # Check again, because the fields are mutable.
        kernel.check()
    _check_symbols(stated)
    return {str(kernel.symbol): kernel for kernel in stated}


def with_kernels(func: tirx.PrimFunc, *kernels: ExternKernel) -> tirx.PrimFunc:
    """Return `func` with the statements of the kernels that it calls.

    Raises
    ------
    ValueError
        two kernels have one symbol.
    """
    _check_symbols(kernels)
    return EXTERN_KERNELS_ATTR.put(func, list(kernels))


def _check_symbols(kernels: Iterable[ExternKernel]) -> None:
    symbols = [str(kernel.symbol) for kernel in kernels]
    for symbol in symbols:
        if symbols.count(symbol) > 1:
            raise ValueError(f'extern kernel "{symbol}" is stated twice; state it once')
