"""The plan of a compiled module as data, which pages, pictures and files for other viewers read."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

KINDS = ("input", "output", "intermediate", "scratch", "state", "constant")
"""Of buffers."""

UNITS = ("ns", "instructions", "cycles")
"""Of what operators were measured to take."""

Range = tuple[int, int]
"""Program positions: the first one, and the one after the last."""


@dataclass(frozen=True)
class Overlap:
    """Bytes that an output takes of an input that its operator reads for the last time.

    Parameters
    ----------
    name
        of the input.
    shared_bytes
        that both have.
    distance_bytes
        the least number of bytes by which the output must begin before the input.
    """

    name: str
    shared_bytes: int
    distance_bytes: int


@dataclass(frozen=True)
class Buffer:
    """One buffer, and where it is.

    Parameters
    ----------
    name
        in the plan; a pool has it once.
    kind
        one of `KINDS`.
    function
        the PrimFunc that allocates it.
    offset_bytes
        of its first byte in the pool.
    size_bytes, alignment_bytes
        as planned.
    live_ranges
        the half-open ranges of program positions at which its content matters.
    overlaps
        what it takes of other buffers while both are live.
    is_ring
        whether it holds the rows of a tensor that operators which run interleaved still read.
    entries
        in which it is live.
    written_by, read_by
        positions in the operators of the map; empty if that is not known.
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
        """The offset after its last byte."""
        return self.offset_bytes + self.size_bytes


@dataclass(frozen=True)
class Pool:
    """One memory.

    Parameters
    ----------
    name
        the user's.
    kind
        "workspace" or "constant".
    limit_bytes
        the size hint; None for no limit.
    io
        "only" if nothing but inputs and outputs may lie there, "no" if neither may, or "any".
    peak_bytes
        the highest end address in use.
    lower_bound_bytes
        proved: no plan has a lower peak.
    memory_pressure_bytes
        most bytes live at once.
    is_optimal
        whether the peak is proved to be the lowest.
    live_at_peak
        names of the buffers that are live then.
    peak_operator
        position of the operator in which most bytes are live, if that is known.
    buffers
        in program order.
    address
        of offset 0, if that is known.
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
        """Whether it is for constants."""
        return self.kind == "constant"


@dataclass(frozen=True)
class ModelOperator:
    """An operator of the model file.

    Parameters
    ----------
    entry
        that it belongs to.
    index
        in the order of the file.
    type_name
        as the format calls it.
    name
        the file's own, if it has one.
    graph
        the subgraph of a TFLite file that it is in.
    inputs, outputs
        names of tensors in the file.
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
        """What `usmp.support.model_operators` names it by."""
        return {"index": self.index, "type": self.type_name, "graph": self.graph}


@dataclass(frozen=True)
class Measured:
    """What an operator was measured to take of a run.

    Parameters
    ----------
    cost
        in the unit; the median of the runs.
    unit
        "ns", "instructions" or "cycles".
    runs
        how many were measured.
    """

    cost: float
    unit: str
    runs: int


@dataclass(frozen=True)
class Operator:
    """What runs as one: an operator of the model, or several that are fused or interleaved.

    Parameters
    ----------
    number
        in the order of the program, over all entries.
    label
        a few words for it: its operators in the model, as "3 CONV_2D, 4 ADD", else its place and
        what it computes.
    entry
        that runs it.
    functions
        the PrimFuncs that compute it.
    model_operators
        positions in the model operators of the map; empty if they are not known.
    positions
        at which it runs, if they are known.
    macs
        multiply-accumulates of a run, if they are known.
    instructions
        about how many a run takes on the target's core, if that is known.
    weights_bytes
        of constants that it reads, if that is known.
    live_bytes
        pool -> bytes live while it runs; empty if that is not known.
    read, written
        names of the buffers that it reads, and of those that it writes; empty if that is not known.
    measured
        what a run took, if that was measured.
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
        """Its functions in one text."""
        return ", ".join(self.functions)

    @property
    def buffers(self) -> tuple[str, ...]:
        """Names of the buffers that it uses, each once."""
        return tuple(dict.fromkeys((*self.read, *self.written)))


@dataclass(frozen=True)
class Entry:
    """A function that an application calls.

    Parameters
    ----------
    name
        as the application knows it.
    positions
        at which it runs.
    peak_bytes
        pool -> highest end address of what is live then.
    io_bytes, state_bytes
        of its inputs and outputs, and of what it keeps between runs.
    inputs, outputs
        tensor -> bytes; 0 of those whose size has no bound.
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
    module
        its name.
    algorithm
        that made the plan.
    positions
        how many program positions there are.
    ram_bytes, io_bytes, state_bytes
        RAM in all, inputs and outputs outside of the pools, and what is kept between runs; None in
        archives that do not say.
    constants_bytes
        of constant pools in all.
    entries, model_operators, operators
        in the order of the metadata.
    pools
        in the same order, but those that a run writes before those of constants.
    """

    module: str
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
        """The operators of the model file that one computes."""
        return [self.model_operators[place] for place in operator.model_operators]

    def operator_at(self, position: int) -> Operator | None:
        """The last one that began by then, if it still runs."""
        starts, operators = self._by_start
        place = bisect_right(starts, position) - 1
        if place < 0:
            return None
        operator = operators[place]
        return operator if operator.positions and position < operator.positions[1] else None

    @cached_property
    def _by_start(self) -> tuple[list[int], list[Operator]]:
        placed = [(each.positions[0], each) for each in self.operators if each.positions]
        placed.sort(key=lambda each: each[0])
        return [start for start, _ in placed], [operator for _, operator in placed]
