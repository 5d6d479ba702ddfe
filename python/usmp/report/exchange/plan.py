"""What the files for other viewers say: the metadata of one module, read and checked once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

Range = tuple[int, int]
"""Program positions: the first one, and the one after the last."""


@dataclass(frozen=True)
class Buffer:
    """A buffer of a pool.

    Parameters
    ----------
    name, kind, function
        as in metadata.json.
    offset, size
        bytes.
    live
        the half-open ranges of positions in which its content matters.
    shares
        bytes that it takes of others while both are live, by their names.
    """

    name: str
    kind: str
    function: str
    offset: int
    size: int
    live: tuple[Range, ...]
    shares: Mapping[str, int]

    @property
    def end(self) -> int:
        """The offset after its last byte."""
        return self.offset + self.size


@dataclass(frozen=True)
class Pool:
    """A pool and its buffers; sizes are bytes.

    Parameters
    ----------
    hint
        what the pool may take at most; None if that is not limited.
    """

    name: str
    is_constant: bool
    peak: int
    hint: int | None
    buffers: tuple[Buffer, ...]


@dataclass(frozen=True)
class ModelOperator:
    """An operator of the model file.

    Parameters
    ----------
    index
        in the order of the file.
    type, name
        what the format calls it; the name of the node, empty if it has none.
    graph
        the subgraph of a TFLite file that it is in.
    outputs
        names of its output tensors.
    """

    index: int
    type: str
    name: str
    graph: int
    outputs: tuple[str, ...]


@dataclass(frozen=True)
class Operator:
    """Operators that the program runs as one.

    Parameters
    ----------
    number
        in the order of the program, over all entries.
    entry
        that runs it.
    name
        its functions.
    macs, instructions
        multiply-accumulates, and instructions as estimated; None if they are not known.
    positions
        when it runs; None if the metadata does not say.
    live_bytes
        bytes of what is live then, by the names of the pools.
    buffers
        names of the buffers that it uses.
    origin
        the operators of the model file that it computes.
    """

    number: int
    entry: str
    name: str
    macs: int | None
    instructions: int | None
    positions: Range | None
    live_bytes: Mapping[str, int]
    buffers: tuple[str, ...]
    origin: tuple[ModelOperator, ...]


@dataclass(frozen=True)
class Plan:
    """The plan of a module.

    Parameters
    ----------
    model_name
        the name of the module.
    inputs, outputs
        the bytes of the tensors of all entries, by the entry and the name of each.
    stop
        the position after the last one.
    """

    model_name: str
    pools: tuple[Pool, ...]
    operators: tuple[Operator, ...]
    inputs: Mapping[tuple[str, str], int]
    outputs: Mapping[tuple[str, str], int]
    stop: int

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


def read_plan(metadata: Mapping[str, Any]) -> Plan:
    """The plan in the metadata of one module of an archive.

    Raises
    ------
    ValueError
        the metadata is damaged; the message says where.
    """
    try:
        memory = metadata["memory"]
        pools = tuple(map(_pool, memory["pools"]))
        table = [_model_operator(each) for each in metadata.get("model_operators", ())]
        operators = tuple(
            _operator(number, each, table)
            for number, each in enumerate(metadata.get("operators", ()))
        )
        mains = memory["functions"]["main"]
        ends = [stop for pool in pools for buffer in pool.buffers for _, stop in buffer.live]
        ends += [operator.positions[1] for operator in operators if operator.positions]
        return Plan(
            _text(metadata["model_name"]),
            pools,
            operators,
            dict(_tensors(mains, "inputs")),
            dict(_tensors(mains, "outputs")),
            max(ends, default=0),
        )
    except (KeyError, TypeError, IndexError, AttributeError) as error:
        raise ValueError(
            f"metadata.json is damaged, or of another version: {type(error).__name__} {error}"
        ) from error


def _pool(described: Mapping[str, Any]) -> Pool:
    hint = described["size_hint_bytes"]
    return Pool(
        _text(described["name"]),
        described["kind"] == "constant",
        _count(described["peak_bytes"]),
        None if hint == -1 else _count(hint),
        tuple(map(_buffer, described["buffers"])),
    )


def _buffer(described: Mapping[str, Any]) -> Buffer:
    return Buffer(
        _text(described["name"]),
        _text(described["kind"]),
        _text(described["function"]),
        _count(described["offset"]),
        _count(described["size"]),
        tuple(_range(*live) for live in described["live_ranges"]),
        {_text(name): _count(overlap["shared"]) for name, overlap in described["overlaps"].items()},
    )


def _operator(
    number: int, described: Mapping[str, Any], table: Sequence[ModelOperator]
) -> Operator:
    macs = described.get("macs")
    is_placed = "start" in described and "stop" in described
    return Operator(
        number,
        _text(described["entry"]),
        ", ".join(map(_text, described["functions"])),
        None if macs is None else _count(macs),
        _instructions(described),
        _range(described["start"], described["stop"]) if is_placed else None,
        {_text(pool): _count(size) for pool, size in described.get("live_bytes", {}).items()},
        _used(described.get("buffers", {})),
        tuple(table[_count(place)] for place in described.get("model_operators", ())),
    )


def _used(buffers: Mapping[str, Sequence[object]]) -> tuple[str, ...]:
    """The names of what it reads or writes."""
    names = (name for key in ("read", "written") for name in buffers.get(key, ()))
    return tuple(dict.fromkeys(map(_text, names)))


def _instructions(described: Mapping[str, Any]) -> int | None:
    """Those of all its functions, or None: each has a schedule, or is not estimated."""
    counts = [each.get("instructions") for each in described.get("schedules", ())]
    if None in counts or len(counts) != len(described["functions"]):
        return None
    return sum(map(_count, counts))


def _model_operator(described: Mapping[str, Any]) -> ModelOperator:
    return ModelOperator(
        _count(described["index"]),
        _text(described["type"]),
        _text(described.get("name", "")),
        _count(described.get("graph", 0)),
        tuple(map(_tensor_name, described["outputs"])),
    )


def _tensor_name(described: object) -> str:
    """Of a tensor that is a name, or a record with one."""
    return _text(described["name"] if isinstance(described, Mapping) else described)


def _tensors(
    mains: Sequence[Mapping[str, Any]], kind: str
) -> Iterator[tuple[tuple[str, str], int]]:
    for main in mains:
        entry = _text(main.get("entry", "main"))
        for name, described in main[kind].items():
            size = described["size"]
            yield (entry, _text(name)), 0 if size is None else _count(size)


def _range(start: object, stop: object) -> Range:
    if _count(start) >= _count(stop):
        raise TypeError(f"{start} to {stop} is no range of positions")
    return _count(start), _count(stop)


def _count(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**63:
        raise TypeError(f"{value!r:.40} is no count")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.40} is no text")
    return value
