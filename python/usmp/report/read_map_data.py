"""Read the plan of a module from its metadata, for all pages, pictures and exchange formats.

Archives of earlier releases may lack operators: the map then has none. All values are checked,
because archives may come from untrusted sources.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from usmp.report.map_data import (
    KINDS,
    UNITS,
    Buffer,
    Entry,
    Measured,
    MemoryMap,
    ModelOperator,
    Operator,
    Overlap,
    Pool,
    Range,
)
from usmp.report.plan_formats import entries_of
from usmp.report.summary.io import IO_TEXTS
from usmp.report.title import title_of
from usmp.support.model_operators import labeled, title_names
from usmp.support.text.plain_text import shown


def map_of_metadata(metadata: Mapping[str, Any]) -> MemoryMap:
    """Read the map from the metadata of one module of an archive.

    Raises
    ------
    ValueError
        a value is missing or malformed; the message names it.
    """
    try:
        return _map_of(metadata)
    except (AttributeError, KeyError, IndexError, TypeError) as error:
        raise ValueError(
            f"the metadata of the module is damaged: {shown(error)} ({type(error).__name__}); "
            "compile the model again"
        ) from error


def _map_of(metadata: Mapping[str, Any]) -> MemoryMap:
    memory = metadata["memory"]
    model_operators = tuple(map(_model_operator, metadata.get("model_operators", [])))
    described = metadata.get("operators", [])
    operators = tuple(
        _operator(place, operator, model_operators) for place, operator in enumerate(described)
    )
    written = _by_buffer([operator.written for operator in operators])
    read = _by_buffer([operator.read for operator in operators])
    interleaved = _interleaved(described)
    mains = memory["functions"]["main"]

    def buffer(described: Mapping[str, Any]) -> Buffer:
        name = _text(described, "name")
        return _buffer(
            described,
            is_ring=_is_ring(described, interleaved),
            entries=tuple(entries_of(described, mains)),
            written_by=written.get(name, ()),
            read_by=read.get(name, ()),
        )

    pools = tuple(
        _pool(pool, buffer, len(operators)) for pool in memory["pools"] if pool["buffers"]
    )
    ends = [stop for pool in pools for b in pool.buffers for _, stop in b.live_ranges]
    ends += [operator.positions[1] for operator in operators if operator.positions is not None]
    positions = max(ends, default=0)
    ram = memory.get("ram", {})
    return MemoryMap(
        module=_text(metadata, "model_name"),
        title=title_of(metadata),
        algorithm=_text(memory, "algorithm"),
        positions=positions,
        ram_bytes=_optional_number(ram, "size_bytes"),
        io_bytes=_optional_number(ram, "io_size_bytes"),
        state_bytes=_optional_number(ram, "state_size_bytes"),
        constants_bytes=sum(pool.peak_bytes for pool in pools if pool.is_constant),
        entries=tuple(_entry(main, positions) for main in mains),
        model_operators=model_operators,
        operators=operators,
        # Sort workspace pools first.
        pools=tuple(sorted(pools, key=lambda pool: pool.is_constant)),
    )


def _pool(
    described: Mapping[str, Any], buffer: Callable[[Mapping[str, Any]], Buffer], operators: int
) -> Pool:
    hint = described["size_hint_bytes"]
    return Pool(
        name=_text(described, "name"),
        kind=_one_of(described, "kind", ("workspace", "constant")),
        limit_bytes=None if hint == -1 else _number(described, "size_hint_bytes"),
        io=_one_of(described, "io", list(IO_TEXTS)) if "io" in described else "any",
        peak_bytes=_number(described, "peak_bytes"),
        lower_bound_bytes=_number(described, "lower_bound_bytes"),
        memory_pressure_bytes=_number(described, "memory_pressure_bytes"),
        is_optimal=bool(described["optimal"]),
        live_at_peak=_texts(described, "live_at_peak"),
        peak_operator=(
            _index(described["peak_operator"], operators) if "peak_operator" in described else None
        ),
        buffers=tuple(buffer(item) for item in described["buffers"]),
        address=_address(described),
    )


def _address(described: Mapping[str, Any]) -> int | None:
    """Return the address of offset 0 of a pool, if known."""
    if "address" not in described:
        return None
    skipped = _number(described, "first_byte") if "first_byte" in described else 0
    return _number(described, "address") + skipped


def _buffer(
    described: Mapping[str, Any],
    *,
    is_ring: bool,
    entries: tuple[str, ...],
    written_by: tuple[int, ...],
    read_by: tuple[int, ...],
) -> Buffer:
    return Buffer(
        name=_text(described, "name"),
        kind=_one_of(described, "kind", KINDS),
        function=_text(described, "function"),
        offset_bytes=_number(described, "offset"),
        size_bytes=_number(described, "size"),
        alignment_bytes=_number(described, "alignment"),
        live_ranges=tuple(map(_live_range, described["live_ranges"])),
        overlaps=tuple(
            Overlap(name, _number(overlap, "shared"), _number(overlap, "distance"))
            for name, overlap in described["overlaps"].items()
        ),
        is_ring=is_ring,
        entries=entries,
        written_by=written_by,
        read_by=read_by,
    )


def _interleaved(operators: Sequence[Mapping[str, Any]]) -> set[str]:
    """Return the names of PrimFuncs that run several operators interleaved."""
    return {
        function
        for operator in operators
        if operator.get("segments")
        for function in operator["functions"]
    }


def _is_ring(described: Mapping[str, Any], interleaved: set[str]) -> bool:
    """Return whether a buffer is a ring of interleaved operators, by "_ring" in its name."""
    _, mark, number = described["name"].rpartition("_ring")
    is_numbered = not number or number.strip("_").isdigit()
    return bool(mark) and is_numbered and described["function"] in interleaved


def _model_operator(described: Mapping[str, Any]) -> ModelOperator:
    return ModelOperator(
        entry=_text(described, "entry"),
        index=_number(described, "index"),
        type_name=_text(described, "type"),
        name=_text(described, "name") if described.get("name") is not None else None,
        graph=_optional_number(described, "graph") or 0,
        inputs=_texts(described, "inputs"),
        outputs=tuple(_text(tensor, "name") for tensor in described["outputs"]),
    )


def _operator(place: int, described: Mapping[str, Any], known: Sequence[ModelOperator]) -> Operator:
    indices = tuple(_index(i, len(known)) for i in described.get("model_operators", []))
    kinds = [_text(step, "kind") for step in described.get("steps", [])]
    functions = _texts(described, "functions")
    origins = [known[i].as_named for i in indices]
    label = labeled(described.get("label"), title_names(origins))
    used = described.get("buffers", {"read": [], "written": []})
    return Operator(
        number=place,
        label=label or f"{place} {' + '.join(kinds or functions)}",
        entry=_text(described, "entry"),
        functions=functions,
        model_operators=indices,
        positions=_range((described["start"], described["stop"])) if "start" in described else None,
        macs=_optional_number(described, "macs"),
        instructions=_instructions(described.get("schedules", []), functions),
        weights_bytes=_optional_number(described, "weights_size_bytes"),
        live_bytes={
            pool: _number(described["live_bytes"], pool) for pool in described.get("live_bytes", {})
        },
        read=_texts(used, "read"),
        written=_texts(used, "written"),
        measured=_measured(described["measured"]) if "measured" in described else None,
    )


def _measured(described: Mapping[str, Any]) -> Measured:
    cost = described["cost"]
    if isinstance(cost, bool) or not isinstance(cost, int | float) or not 0 <= cost < 2**63:
        raise TypeError('"cost" is no number of 0 or more with 63 bits at most')
    return Measured(cost, _one_of(described, "unit", UNITS), _number(described, "runs"))


def _instructions(schedules: Sequence[Mapping[str, Any]], functions: Sequence[str]) -> int | None:
    """Return the total instructions of PrimFuncs, or None if any of them has an unknown number."""
    counted = [schedule for schedule in schedules if "instructions" in schedule]
    if not counted or not len(counted) == len(schedules) == len(functions):
        return None
    return sum(_number(schedule, "instructions") for schedule in schedules)


def _by_buffer(names_by_operator: Sequence[Sequence[str]]) -> dict[str, tuple[int, ...]]:
    """Return the numbers of the operators that use a buffer, by the name of the buffer."""
    by_buffer: dict[str, tuple[int, ...]] = {}
    for number, buffers in enumerate(names_by_operator):
        for name in buffers:
            by_buffer[name] = (*by_buffer.get(name, ()), number)
    return by_buffer


def _entry(main: Mapping[str, Any], positions: int) -> Entry:
    peaks = main.get("peak_bytes", main.get("workspace_pools", {}))
    return Entry(
        # Earlier archives have a single entry without a name.
        name=_text(main, "entry") if "entry" in main else "main",
        positions=_range(main.get("positions", (0, positions))),
        peak_bytes={pool: _number(peaks, pool) for pool in peaks},
        io_bytes=_number(main, "io_size_bytes"),
        state_bytes=_optional_number(main, "state_size_bytes") or 0,
        inputs=_sizes(main["inputs"]),
        outputs=_sizes(main["outputs"]),
    )


def _sizes(tensors: Mapping[str, Mapping[str, Any]]) -> dict[str, int]:
    """Return the bytes of tensors by name; 0 for a tensor without a bound, or by rows."""
    return {
        name: 0 if tensor["size"] is None or "by_rows" in tensor else _number(tensor, "size")
        for name, tensor in tensors.items()
    }


def _number(described: Mapping[str, Any], name: str) -> int:
    value = described[name]
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise TypeError(f'"{name}" is no number of 0 or more')
    if value >= 2**63:
        raise TypeError(f'"{name}" is a number of more than 63 bits')
    return value


def _optional_number(described: Mapping[str, Any], name: str) -> int | None:
    return _number(described, name) if described.get(name) is not None else None


def _text(described: Mapping[str, Any], name: str) -> str:
    value = described[name]
    if not isinstance(value, str):
        raise TypeError(f'"{name}" is no text')
    return value


def _texts(described: Mapping[str, Any], name: str) -> tuple[str, ...]:
    values = described[name]
    if not isinstance(values, list | tuple) or not all(isinstance(v, str) for v in values):
        raise TypeError(f'"{name}" is no list of texts')
    return tuple(values)


def _one_of(described: Mapping[str, Any], name: str, values: Sequence[str]) -> str:
    value = _text(described, name)
    if value not in values:
        raise TypeError(f'"{name}" is none of {", ".join(values)}')
    return value


def _range(value: Sequence[int]) -> Range:
    if not isinstance(value, list | tuple) or len(value) != 2:
        raise TypeError("a range of positions is no pair")
    start, stop = (_number({"position": position}, "position") for position in value)
    if start > stop:
        raise TypeError(f"{start} to {stop} is no range of positions")
    return start, stop


def _live_range(value: Sequence[int]) -> Range:
    start, stop = _range(value)
    if start == stop:
        raise TypeError(f"a live range at {start} is empty")
    return start, stop


def _index(value: Any, count: int) -> int:
    position = _number({"position": value}, "position")
    if position >= count:
        raise TypeError(f"position {position} of {count} operators")
    return position
