"""An operator with the bodies that are compared with it, and the memory of both in C."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from tvm import DataType, tirx

from usmp.aot.kernel_checks.kernel_body import KernelBody, ReplacedOperator

CONSTANT, INPUT, OUTPUT = "CONSTANT", "INPUT", "OUTPUT"


@dataclass(frozen=True, eq=False)
class Check:
    """Bodies that must give the bytes of one operator.

    Its buffers in C are the arguments of the operator, the constants of one body after the other,
    then the outputs.
    """

    operator: ReplacedOperator
    bodies: tuple[KernelBody, ...]

    def buffers(self) -> Iterator[tuple[str, int]]:
        """The kind and the bytes of each buffer."""
        for param, constant in zip(
            self.operator.func.params, self.operator.constants, strict=False
        ):
            yield INPUT if constant is None else CONSTANT, size_bytes(param)
        for body in self.bodies:
            yield from ((CONSTANT, array.nbytes) for array in body.constants)
        yield from ((OUTPUT, size_bytes(param)) for param in self.operator.outputs)

    def constants(self) -> Iterator[np.ndarray]:
        """The content of the buffers that are constants, in their order."""
        yield from (array for array in self.operator.constants if array is not None)
        for body in self.bodies:
            yield from body.constants

    def arguments(self) -> Iterator[list[int]]:
        """The buffers that the operator takes, and then those of each body, without outputs."""
        given = len(self.operator.constants)
        yield list(range(given))
        for body in self.bodies:
            added = range(given, given + len(body.constants))
            given = added.stop
            numbers = iter(added)
            yield [a if isinstance(a, int) else next(numbers) for a in body.kernel.arguments]


def checks_of(bodies: Iterable[KernelBody]) -> list[Check]:
    """Return the checks of these bodies, each body once, beside others of the same operator."""
    known = {body.digest: body for body in bodies}
    by_operator: dict[str, list[KernelBody]] = {}
    for body in known.values():
        by_operator.setdefault(body.operator.digest, []).append(body)
    return [Check(group[0].operator, tuple(group)) for group in by_operator.values()]


def size_bytes(buffer: tirx.Var) -> int:
    """Return the bytes of a buffer of constant shape."""
    return _elements(buffer.shape) * int(DataType(str(buffer.dtype)).itemsize)


def _elements(shape: Sequence[tirx.Expr]) -> int:
    return int(np.prod([int(extent) for extent in shape], dtype=np.int64))
