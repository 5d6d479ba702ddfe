"""What a function outside of the module states about itself.

Of a call of such a function nothing is known but what its arguments say: it may read and write all
of the memory that it is given a pointer to, in any order, keep a state, and fail. What its author
states replaces that. The analysis believes it.
"""

from __future__ import annotations

from collections.abc import Iterable

import tvm_ffi
from tvm import tirx
from tvm_ffi.dataclasses import py_class

from usmp.objects.ffi_object import FFIObject
from usmp.objects.operator_attributes import EXTERN_KERNELS_ATTR


@py_class("usmp.KernelArgument")
class KernelArgument(FFIObject):
    """What a kernel does with the memory behind one of its pointers.

    Parameters
    ----------
    name
        in errors.
    size_bytes
        it accesses no byte from here on, counted from where the pointer points to, and none before
        that.
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
        """Refuse sizes that are none."""
        self.check()

    def check(self) -> None:
        """Check that the size is one."""
        if self.size_bytes < 0:
            raise ValueError(
                f'argument "{self.name}" of an extern kernel has {self.size_bytes} bytes; '
                "state 0 or more"
            )


@py_class("usmp.SafeDistance")
class SafeDistance(FFIObject):
    """How an output of a kernel may overlap an input that dies in it.

    Parameters
    ----------
    input
        index of an argument that it reads.
    output
        index of an argument that it writes.
    size_bytes
        by how many bytes the output must start below the input at least, if they share bytes. At a
        distance of d, before the kernel writes byte i of the output, it has read the bytes of the
        input up to i - d for the last time. With 0, the same address and any below it are right; a
        kernel that is right at the same address only, as one that begins with the last byte, has
        no such distance. The size of the output permits no common byte.
    """

    input: int
    output: int
    size_bytes: int


@py_class("usmp.ExternKernel")
class ExternKernel(FFIObject):
    """A function outside of the module, as its author states it.

    Parameters
    ----------
    symbol
        its name, by which `T.call_extern` calls it.
    arguments
        what it does with its first arguments, all of which are pointers; of the others nothing is
        known.
    safe_distances
        at most one for each pair of arguments; of other pairs, one must not be written before all
        of the other was accessed.
    can_fail
        whether it may end the run, so that what follows must wait for it.
    keeps_state
        whether it may access memory that it is not given, a device included, so that such calls
        must stay in order.

    Raises
    ------
    ValueError
        a distance that is none, or of arguments that it does not have, read, or write.
    """

    symbol: str
    arguments: list[KernelArgument]
    safe_distances: list[SafeDistance] = tvm_ffi.dataclasses.field(default_factory=list)
    can_fail: bool = True
    keeps_state: bool = True

    def __post_init__(self) -> None:
        """Refuse distances that are none."""
        self.check()

    def check(self) -> None:
        """Check that the distances are those of arguments that it has, reads and writes."""
        for argument in self.arguments:
            argument.check()
        pairs = set()
        for stated in self.safe_distances:
            given, written, size = int(stated.input), int(stated.output), int(stated.size_bytes)
            count = len(self.arguments)
            for index in (given, written):
                if not 0 <= index < count:
                    raise self._wrong(f"of argument {index}; it has {count} arguments")
            source, output = self.arguments[given], self.arguments[written]
            between = f'from input "{source.name}" to output "{output.name}"'
            if given == written:
                raise self._wrong(f"{between}, which are one argument; state it of two")
            if not source.reads or not output.writes:
                is_wrong = "is not read" if not source.reads else "is not written"
                raise self._wrong(f"{between}, of which one {is_wrong}")
            if not 0 <= size <= output.size_bytes:
                raise self._wrong(
                    f"of {size} bytes {between}, which has {output.size_bytes} bytes; "
                    f"state 0 to {output.size_bytes}"
                )
            if (given, written) in pairs:
                raise self._wrong(f"{between} twice; state one of them")
            pairs.add((given, written))

    def _wrong(self, what: str) -> ValueError:
        return ValueError(f'extern kernel "{self.symbol}" states a safe distance {what}')


def kernels_of(func: tirx.PrimFunc) -> dict[str, ExternKernel]:
    """The kernels that a PrimFunc calls and that state something, by symbol.

    Raises
    ------
    ValueError
        a statement that is wrong by itself, or a symbol that is stated twice.
    """
    stated = EXTERN_KERNELS_ATTR.of(func)
    if stated is None:
        return {}
    for kernel in stated:
        # Fields may have changed since it was made.
        kernel.check()
    _check_symbols(stated)
    return {str(kernel.symbol): kernel for kernel in stated}


def with_kernels(func: tirx.PrimFunc, *kernels: ExternKernel) -> tirx.PrimFunc:
    """`func`, which calls these kernels.

    Raises
    ------
    ValueError
        two of them have one symbol.
    """
    _check_symbols(kernels)
    return EXTERN_KERNELS_ATTR.put(func, list(kernels))


def _check_symbols(kernels: Iterable[ExternKernel]) -> None:
    symbols = [str(kernel.symbol) for kernel in kernels]
    for symbol in symbols:
        if symbols.count(symbol) > 1:
            raise ValueError(f'extern kernel "{symbol}" is stated twice; state it once')
