"""Memory maps made by hand: pools, buffers and operators of any names and sizes."""

from __future__ import annotations

from usmp.report.map_data import Buffer, Entry, MemoryMap, Operator, Overlap, Pool


def buffer(name, size=4, live=((0, 4),), offset=0, kind="intermediate", **known):
    """A buffer; `overlaps` are names with the bytes that both have."""
    overlaps = tuple(Overlap(other, n, 0) for other, n in known.pop("overlaps", {}).items())
    facts = {"is_ring": False, "entries": (), "written_by": (), "read_by": (), **known}
    return Buffer(name, kind, "f", offset, size, 4, tuple(live), overlaps, **facts)


def pool(*buffers, name="sram", kind="workspace", peak=100, bound=80, limit=None, **known):
    """A pool of these buffers."""
    facts = {"io": "any", "is_optimal": False, "live_at_peak": (), "peak_operator": None, **known}
    return Pool(
        name=name,
        kind=kind,
        limit_bytes=limit,
        peak_bytes=peak,
        lower_bound_bytes=bound,
        memory_pressure_bytes=90,
        buffers=buffers,
        **facts,
    )


def operator(number, positions=None, label=None, **known):
    """An operator of which is known what is given."""
    facts = {"macs": None, "instructions": None, "weights_bytes": None, "measured": None}
    facts |= {"functions": (f"f{number}",), "model_operators": (), "live_bytes": {}}
    facts |= {"entry": "main", "read": (), "written": (), **known}
    return Operator(number, label or f"op{number}", positions=positions, **facts)


def entry(name, positions=(0, 4), **known):
    """An entry with a peak of 10 bytes in one pool and 5 in another one."""
    facts = {"peak_bytes": {"a": 10, "b": 5}, "io_bytes": 3, "state_bytes": 2, **known}
    return Entry(name, positions, inputs={}, outputs={}, **facts)


def memory_map(*pools, operators=(), entries=None, model_operators=(), positions=4):
    """The map of a module that has these pools."""
    one = (entry("main"),) if entries is None else tuple(entries)
    return MemoryMap(
        "net",
        "net",
        "auto",
        positions,
        0,
        0,
        0,
        0,
        one,
        tuple(model_operators),
        tuple(operators),
        pools,
    )
