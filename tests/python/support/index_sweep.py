"""Runs of a model with indices of any value, under sanitizers, and what must come out of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import usmp
from support.c_program import SANITIZERS, run_as_program

Tensors = Mapping[str, np.ndarray]

BOUNDARIES: Sequence[Callable[[int], int]] = (
    lambda n: -(2**63),
    lambda n: -(2**32) + 1,
    lambda n: -(2**31) - 1,
    lambda n: -(2**31),
    lambda n: -n - 1,
    lambda n: -n,
    lambda n: -1,
    lambda n: 0,
    lambda n: n - 1,
    lambda n: n,
    lambda n: 2**31 - 1,
    lambda n: 2**31,
    lambda n: 2**32,
    lambda n: 2**32 + 1,
    lambda n: 2**63 - n,
    lambda n: 2**63 - 1,
)
"""Indices of an axis of `n` elements; a type that does not hold one gets its nearest."""

COORDINATES = (0.0, -1.0, 1.0, -1e9, 3e9, -1e30, 1e30, -np.inf, np.inf, np.nan)
"""Where positions are floats."""


@dataclass(frozen=True)
class Indices:
    """An input of indices.

    Parameters
    ----------
    extents
        of the axis that they are positions on; of several axes, the last axis of the input has one
        position for each.
    from_end
        whether negative ones count from the end.
    is_defined
        whether the reference takes any value, and computes what is wanted.
    """

    shape: tuple[int, ...]
    extents: tuple[int, ...]
    dtype: str = "int64"
    from_end: bool = True
    is_defined: bool = False

    def filled(self, boundary: Callable[[int], int]) -> np.ndarray:
        """All the same on each axis."""
        limits = np.iinfo(self.dtype)
        row = [min(max(boundary(n), limits.min), limits.max) for n in self.extents]
        result = np.empty(self.shape, self.dtype)
        result[...] = row if len(row) > 1 else row[0]
        return result

    def inside(self, generator: np.random.Generator) -> np.ndarray:
        """Positions that are there; no two of a line are one."""
        rows = [generator.permutation(n) for n in self.extents]
        result = np.empty(self.shape, self.dtype)
        limits = np.iinfo(self.dtype)
        for at in np.ndindex(self.shape):
            column = at[-1] if len(rows) > 1 else 0
            line = sum(at[:-1]) if len(rows) > 1 else sum(at)
            result[at] = min(rows[column][line % self.extents[column]], limits.max)
        return result

    def _counted(self, indices: np.ndarray) -> np.ndarray:
        exact, sizes = indices.astype(object), np.array(self.extents, object)
        return np.where((exact < 0) & self.from_end, exact + sizes, exact)

    def nearest(self, indices: np.ndarray) -> np.ndarray:
        """The positions that a read takes."""
        if self.is_defined:
            return indices
        last = np.array(self.extents, object) - 1
        nearest = np.minimum(np.maximum(self._counted(indices), 0), last)
        fits = np.iinfo(self.dtype).max >= max(self.extents) - 1
        return nearest.astype(self.dtype if fits else np.int64)

    def is_outside(self, indices: np.ndarray) -> bool:
        """Whether none of them is on its axes."""
        counted, sizes = self._counted(indices), np.array(self.extents, object)
        wrong = (counted < 0) | (counted >= sizes)
        return bool((wrong.any(-1) if len(self.extents) > 1 else wrong).all())


@dataclass
class Sweep:
    """A model of operators that take indices.

    Parameters
    ----------
    indices
        by the name of the input.
    data
        the other inputs.
    written
        by the name of an output, the indices that say where it is written, and what it is if
        nothing is.
    coordinates
        shapes of inputs of floats that say where to read, by name.
    outputs
        their names, in the order of the model.
    sampled
        outputs that are known only where all coordinates are between -1 and 1.
    computed
        by the name of an output, what computes it of inputs that the reference refuses.
    """

    indices: dict[str, Indices] = field(default_factory=dict)
    data: dict[str, np.ndarray] = field(default_factory=dict)
    written: dict[str, tuple[str, np.ndarray]] = field(default_factory=dict)
    coordinates: dict[str, tuple[int, ...]] = field(default_factory=dict)
    outputs: list[str] = field(default_factory=list)
    sampled: set[str] = field(default_factory=set)
    computed: dict[str, Callable[[Tensors], np.ndarray]] = field(default_factory=dict)

    def runs(self) -> list[dict[str, np.ndarray]]:
        """The inputs of each run: indices that are all the same, or that only begin with one."""
        generator = np.random.default_rng(0)
        written = {name for name, _ in self.written.values()}
        runs = []
        for number, boundary in enumerate(BOUNDARIES):
            every = {name: each.filled(boundary) for name, each in self.indices.items()}
            some = {name: each.inside(generator) for name, each in self.indices.items()}
            for name in self.indices.keys() - written:
                some[name].flat[0] = every[name].flat[0]
            coordinate = COORDINATES[number % len(COORDINATES)]
            for name, shape in self.coordinates.items():
                every[name] = np.full(shape, coordinate, np.float32)
                some[name] = generator.uniform(-1, 1, shape).astype(np.float32)
            runs += [{**self.data, **each} for each in (every, some)]
        return runs

    def is_within(self, inputs: Tensors) -> bool:
        """Whether all coordinates are between -1 and 1."""
        return all(bool((np.abs(inputs[name]) <= 1).all()) for name in self.coordinates)

    def expected(self, inputs: Tensors, reference: Callable[[Tensors], Tensors]) -> Tensors:
        """The outputs that are known."""
        nearest = {name: each.nearest(inputs[name]) for name, each in self.indices.items()}
        if not self.is_within(inputs):
            nearest |= {n: np.zeros(shape, np.float32) for n, shape in self.coordinates.items()}
        outputs = dict(reference({**inputs, **nearest}))
        outputs |= {name: compute(inputs) for name, compute in self.computed.items()}
        for output, (name, unchanged) in self.written.items():
            if self.indices[name].is_outside(inputs[name]):
                outputs[output] = unchanged
        return outputs


def check_sweep(
    sweep: Sweep,
    factory: usmp.AOTExecutorFactoryModule,
    reference: Callable[[Tensors], Tensors],
    folder: Path,
    tolerances: Mapping[str, float] | None = None,
) -> None:
    """Run the C of a model under sanitizers with all indices, and compare its outputs.

    Parameters
    ----------
    reference
        computes the outputs of indices that are inside.
    tolerances
        of outputs that need not be exact.
    """
    runs, interface = sweep.runs(), factory.interface
    content = b"".join(
        np.ascontiguousarray(inputs[tensor.info.name]).tobytes()
        for inputs in runs
        for tensor in interface.inputs
    )
    stream = memoryview(run_as_program(factory, folder, SANITIZERS, content))
    for number, inputs in enumerate(runs):
        expected = sweep.expected(inputs, reference)
        for name, tensor in zip(sweep.outputs, interface.outputs, strict=True):
            array = np.frombuffer(stream, tensor.info.dtype, int(np.prod(tensor.info.shape)))
            stream = stream[array.nbytes :]
            if name in sweep.sampled and not sweep.is_within(inputs):
                continue
            tolerance = (tolerances or {}).get(name, 0)
            np.testing.assert_allclose(
                array.reshape(tensor.info.shape),
                expected[name],
                tolerance,
                tolerance,
                err_msg=f"{name} of run {number}: { {n: inputs[n] for n in sweep.indices} }",
            )
    assert not stream
