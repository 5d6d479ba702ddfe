"""The plan of a compiled module as data, for pages, pictures and exchange formats."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

KINDS = ("input", "output", "intermediate", "scratch", "state", "constant")
"""Kinds of buffers."""

UNITS = ("ns", "instructions", "cycles")
"""Units of measured costs of operators."""

Range = tuple[int, int]
"""A half-open interval of program positions."""


@dataclass(frozen=True)
class Overlap:
    """The overlap of an output with an input that its operator reads for the last time.

    Parameters
    ----------
    name
        name of the input.
    shared_bytes
        number of bytes that both buffers share.
    distance_bytes
        least bytes by which the output must start below the input, so that sharing is safe.
    """

    name: str
    shared_bytes: int
    distance_bytes: int


@dataclass(frozen=True)
class Buffer:
    """A buffer and its place in a pool.

    Parameters
    ----------
    name
        name in the plan, unique in a pool.
    kind
        one of `KINDS`.
    function
        name of the PrimFunc that allocates it.
    offset_bytes
        offset of the first byte in the pool.
    size_bytes, alignment_bytes
        size and alignment in the plan.
    live_ranges
        half-open intervals of program positions in which the content matters.
    overlaps
        overlaps with dying inputs.
    is_ring
        whether it is a ring buffer of a tensor between interleaved operators.
    entries
        names of the entries in which it is live.
    written_by, read_by
        indices into the operators of the map; empty if unknown.
    """

    name: str
    kind: str
    function: str
    offset_bytes: int
    size_bytes: int
    alignment_bytes: int
    live_ranges: tuple[Range, ...]
    overlaps: tuple[Overlap, ...]
    is_ring: bool
    entries: tuple[str, ...]
    written_by: tuple[int, ...]
    read_by: tuple[int, ...]

    @property
    def end_bytes(self) -> int:
        """The offset after the last byte."""
        return self.offset_bytes + self.size_bytes


@dataclass(frozen=True)
class Pool:
    """A memory pool and its plan.

    Parameters
    ----------
    name
        name of the pool.
    kind
        "workspace" or "constant".
    limit_bytes
        size hint; None for no limit.
    io
        "only" if only inputs and outputs may lie in it, "no" if neither may, or "any".
    peak_bytes
        highest end address in use.
    lower_bound_bytes
        proved lower bound of the peak.
    memory_pressure_bytes
        most bytes that are live at once.
    is_optimal
        whether the peak is proved to be the lowest.
    live_at_peak
        names of the buffers that are live at the peak.
    peak_operator
        index of the operator with the most live bytes, if known.
    buffers
        buffers in the order of the metadata.
    address
        address of offset 0, if known.
    """

    name: str
    kind: str
    limit_bytes: int | None
    io: str
    peak_bytes: int
    lower_bound_bytes: int
    memory_pressure_bytes: int
    is_optimal: bool
    live_at_peak: tuple[str, ...]
    peak_operator: int | None
    buffers: tuple[Buffer, ...]
    address: int | None = None

    @property
    def is_constant(self) -> bool:
        """Whether the pool is for constants."""
        return self.kind == "constant"


@dataclass(frozen=True)
class ModelOperator:
    """An operator of the model file.

    Parameters
    ----------
    entry
        name of its entry.
    index
        index in the order of the file.
    type_name
        type in the terms of the file format.
    name
        name in the file, if it has one.
    graph
        index of its subgraph in a TFLite file.
    inputs, outputs
        names of its tensors in the file.
    """

    entry: str
    index: int
    type_name: str
    name: str | None
    graph: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    @property
    def as_named(self) -> dict[str, int | str]:
        """The keys that the functions of `usmp.support.model_operators` read."""
        return {"index": self.index, "type": self.type_name, "graph": self.graph}


@dataclass(frozen=True)
class Measured:
    """The measured cost of an operator in a run.

    Parameters
    ----------
    cost
        median of the runs, in `unit`.
    unit
        "ns", "instructions" or "cycles".
    runs
        number of measured runs.
    """

    cost: float
    unit: str
    runs: int


@dataclass(frozen=True)
class Operator:
    """A statement of the plan: an operator of the model, or several fused or interleaved ones.

    Parameters
    ----------
    number
        index in program order, over all entries.
    label
        its operators in the model, as "3 CONV_2D, 4 ADD"; its index and kinds if unknown.
    entry
        name of the entry that runs it.
    functions
        names of the PrimFuncs that compute it.
    model_operators
        indices into the model operators of the map; empty if unknown.
    positions
        program positions at which it runs, if known.
    macs
        multiply-accumulates of a run, if known.
    instructions
        estimated instructions of a run on the target's core, if known.
    weights_bytes
        bytes of the constants that it reads, if known.
    live_bytes
        bytes that are live while it runs, by the names of pools; empty if unknown.
    read, written
        names of the buffers that it reads, and that it writes; empty if unknown.
    measured
        measured cost, if there is one.
    """

    number: int
    label: str
    entry: str
    functions: tuple[str, ...]
    model_operators: tuple[int, ...]
    positions: Range | None
    macs: int | None
    instructions: int | None
    weights_bytes: int | None
    live_bytes: Mapping[str, int]
    read: tuple[str, ...]
    written: tuple[str, ...]
    measured: Measured | None

    @property
    def function_names(self) -> str:
        """The names of the functions in one text."""
        return ", ".join(self.functions)

    @property
    def buffers(self) -> tuple[str, ...]:
        """The names of the buffers that it reads or writes, without duplicates."""
        return tuple(dict.fromkeys((*self.read, *self.written)))


@dataclass(frozen=True)
class Entry:
    """A function that an application calls.

    Parameters
    ----------
    name
        name for the application.
    positions
        program positions at which it runs.
    peak_bytes
        highest end address of its live buffers, by the names of pools.
    io_bytes, state_bytes
        bytes of its inputs and outputs, inside or outside of pools but not by rows, and of its
        states.
    inputs, outputs
        bytes by the names of tensors; 0 if the size of a tensor has no bound, or if it is by rows.
    """

    name: str
    positions: Range
    peak_bytes: Mapping[str, int]
    io_bytes: int
    state_bytes: int
    inputs: Mapping[str, int]
    outputs: Mapping[str, int]


@dataclass(frozen=True)
class MemoryMap:
    """The plan of one module.

    Parameters
    ----------
    module, title
        name of the module, and its title (`usmp.report.title`).
    algorithm
        name of the planning algorithm.
    positions
        number of program positions.
    ram_bytes, io_bytes, state_bytes
        bytes of all RAM, of inputs and outputs outside of pools, and of states; None in archives
        that lack them.
    constants_bytes
        total bytes of constant pools.
    entries, model_operators, operators
        items in the order of the metadata.
    pools
        pools that have buffers: workspace pools, then constant pools, in the order of the metadata.
    """

    module: str
    title: str
    algorithm: str
    positions: int
    ram_bytes: int | None
    io_bytes: int | None
    state_bytes: int | None
    constants_bytes: int
    entries: tuple[Entry, ...]
    model_operators: tuple[ModelOperator, ...]
    operators: tuple[Operator, ...]
    pools: tuple[Pool, ...]

    def origin(self, operator: Operator) -> list[ModelOperator]:
        """Return the operators of the model file that an operator computes."""
        return [self.model_operators[place] for place in operator.model_operators]

    def operator_at(self, position: int) -> Operator | None:
        """Return the last operator that starts at or before a position; None if it has ended."""
        starts, operators = self._by_start
        place = bisect_right(starts, position) - 1
        if place < 0:
            return None
        operator = operators[place]
        return operator if operator.positions and position < operator.positions[1] else None

    @cached_property
    def _by_start(self) -> tuple[list[int], list[Operator]]:
        placed = [(item.positions[0], item) for item in self.operators if item.positions]
        placed.sort(key=lambda item: item[0])
        return [start for start, _ in placed], [operator for _, operator in placed]
