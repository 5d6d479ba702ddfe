"""An operator, the kernel bodies that are compared with it, and their buffers in C."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from tvm import tirx

from usmp.aot.kernel_checks.kernel_body import KernelBody, ReplacedOperator
from usmp.tir.dtypes import item_bytes

CONSTANT, INPUT, OUTPUT = "CONSTANT", "INPUT", "OUTPUT"


@dataclass(frozen=True, eq=False)
class Check:
    """Kernel bodies that must compute the same bytes as one operator.

    Buffers in C are the arguments of the operator, then the constants of each body, then the
    outputs.
    """

    operator: ReplacedOperator
    bodies: tuple[KernelBody, ...]

    def buffers(self) -> Iterator[tuple[str, int]]:
        """Yield the kind and the size in bytes of each buffer."""
        for param, constant in zip(
            self.operator.func.params, self.operator.constants, strict=False
        ):
            yield INPUT if constant is None else CONSTANT, size_bytes(param)
        for body in self.bodies:
            yield from ((CONSTANT, array.nbytes) for array in body.constants)
        yield from ((OUTPUT, size_bytes(param)) for param in self.operator.outputs)

    def constants(self) -> Iterator[np.ndarray]:
        """Yield the content of constant buffers, in order."""
        yield from (array for array in self.operator.constants if array is not None)
        for body in self.bodies:
            yield from body.constants

    def arguments(self) -> Iterator[list[int]]:
        """Yield the indices of the buffers that the operator takes, then those that each body
        takes, without outputs."""
        count = len(self.operator.constants)
        yield list(range(count))
        for body in self.bodies:
            added = range(count, count + len(body.constants))
            count = added.stop
            numbers = iter(added)
            yield [a if isinstance(a, int) else next(numbers) for a in body.kernel.arguments]


def checks_of(bodies: Iterable[KernelBody]) -> list[Check]:
    """Return one check for each operator, with its distinct bodies."""
    known = {body.digest: body for body in bodies}
    by_operator: dict[str, list[KernelBody]] = {}
    for body in known.values():
        by_operator.setdefault(body.operator.digest, []).append(body)
    return [Check(group[0].operator, tuple(group)) for group in by_operator.values()]


def size_bytes(buffer: tirx.Var) -> int:
    """Return the bytes of a buffer of static shape."""
    return _elements(buffer.shape) * item_bytes(str(buffer.dtype))


def _elements(shape: Sequence[tirx.Expr]) -> int:
    return int(np.prod([int(extent) for extent in shape], dtype=np.int64))
