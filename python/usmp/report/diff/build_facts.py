"""The facts of a build to compare with another one: pools, entries, buffers, operators and sums."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from usmp.plain.entry_names import ONLY_ENTRY

_ENTRY_SIZES = ("io_size_bytes", "state_size_bytes")


@dataclass(frozen=True)
class Item:
    """A pool, an entry, a buffer or an operator of a build.

    Parameters
    ----------
    key
        names that identify the item among items of its kind, such as name and kind of a pool.
    values
        values to compare, by name.
    producer
        key of the operator that writes a buffer; None if it is unknown, or if several write it.
    origin
        operators of the model file that an operator computes; empty if they are unknown.
    """

    key: tuple[str, ...]
    values: Mapping[str, Any]
    producer: tuple[str, ...] | None = None
    origin: str = ""


@dataclass(frozen=True)
class Code:
    """The compiled code of a module.

    Parameters
    ----------
    compiler
        the compiler, its CPU and its optimization level, as text.
    size_bytes
        bytes of code, and of constants outside of pools.
    functions
        bytes of the function of each operator, with its helper functions; inlined functions are
        missing.
    """

    compiler: str
    size_bytes: int
    functions: Mapping[str, int] = field(repr=False)


@dataclass(frozen=True)
class BuildFacts:
    """The facts of a module of a build.

    Parameters
    ----------
    name
        name of the module; empty if the file lacks it.
    sums
        total bytes, by name; unknown totals are missing.
    pools, entries, buffers
        the items of each kind.
    operators
        the operators; None if the file lacks them.
    code
        the compiled code; None if it was not compiled.
    title
        title of the module in reports.
    shared_code
        value of `shared_code` in metadata.json; None if no operators share code.
    """

    name: str
    sums: Mapping[str, int]
    pools: Sequence[Item]
    entries: Sequence[Item]
    buffers: Sequence[Item]
    operators: Sequence[Item] | None
    code: Code | None = None
    title: str = ""
    shared_code: str | None = None


def build_facts(
    name: str,
    memory: Mapping[str, Any],
    operators: Sequence[Mapping[str, Any]] | None = None,
    code: Code | None = None,
    source_bytes: int | None = None,
    *,
    title: str = "",
    origins: Sequence[str] = (),
    shared_code: str | None = None,
) -> BuildFacts:
    """Return the facts of a module.

    Parameters
    ----------
    name
        name of the module.
    memory
        checked value of "memory" in metadata.json.
    operators
        checked value of "operators"; None if it is missing.
    code
        the compiled code, if there is a compiler.
    source_bytes
        bytes of the C files, if there are any.
    title
        title of the module in reports; by default its name.
    origins
        for each operator, its operators of the model file; empty if they are unknown.
    shared_code
        value of `shared_code` in metadata.json; None if no operators share code.
    """
    constants = sum(p["peak_bytes"] for p in memory["pools"] if p["kind"] == "constant")
    ram = memory.get("ram", {})
    mains = memory["functions"]["main"]
    names = ("size_bytes", "workspace_size_bytes", "io_size_bytes", "state_size_bytes")
    sums = {f"ram_{key}" if key == "size_bytes" else key: ram[key] for key in names if key in ram}
    sums["constants_size_bytes"] = constants
    if code is not None:
        sums["code_size_bytes"] = code.size_bytes
        sums["flash_size_bytes"] = constants + code.size_bytes
    if source_bytes is not None:
        sums["source_size_bytes"] = source_bytes
    return BuildFacts(
        name,
        sums,
        _numbered(_pool(pool) for pool in memory["pools"]),
        _numbered(_entry(main, len(mains) > 1) for main in mains),
        _buffers(memory["pools"], operators or ()),
        None if operators is None else _operators(operators, origins, code),
        code,
        title or name,
        shared_code,
    )


def _operators(
    operators: Sequence[Mapping[str, Any]], origins: Sequence[str], code: Code | None
) -> list[Item]:
    known = origins or [""] * len(operators)
    return _numbered(
        replace(_operator(operator, code), origin=origin)
        for operator, origin in zip(operators, known, strict=True)
    )


def _pool(pool: Mapping[str, Any]) -> Item:
    keys = ("peak_bytes", "lower_bound_bytes", "memory_pressure_bytes", "optimal")
    return Item((pool["name"], pool["kind"]), {key: pool[key] for key in keys})


def _entry(main: Mapping[str, Any], has_others: bool) -> Item:
    # The workspace of one of several entries is that of all.
    peak = sum(main["peak_bytes"].values()) if has_others else main.get("workspace_size_bytes")
    sizes = {"peak_bytes": peak, **{key: main.get(key) for key in _ENTRY_SIZES}}
    values = {key: size for key, size in sizes.items() if size is not None}
    return Item((main.get("entry", ONLY_ENTRY),), values)


def _operator_key(operator: Mapping[str, Any]) -> tuple[str, str]:
    return operator["entry"], operator.get("label") or " + ".join(operator["functions"])


def _operator(operator: Mapping[str, Any], code: Code | None) -> Item:
    values = {"macs": operator["macs"]} if "macs" in operator else {}
    instructions = [s["instructions"] for s in operator.get("schedules", ()) if "instructions" in s]
    if instructions:
        values["instructions"] = sum(instructions)
    if "weights_size_bytes" in operator:
        values["constants_size_bytes"] = operator["weights_size_bytes"]
    if code is not None and all(name in code.functions for name in operator["functions"]):
        values["code_size_bytes"] = sum(code.functions[name] for name in operator["functions"])
    return Item(_operator_key(operator), values)


def _buffers(
    pools: Sequence[Mapping[str, Any]], operators: Sequence[Mapping[str, Any]]
) -> list[Item]:
    writers: dict[str, set[tuple[str, ...]]] = {}
    for operator in operators:
        for name in operator.get("buffers", {}).get("written", ()):
            writers.setdefault(name, set()).add(_operator_key(operator))

    def producer(name: str) -> tuple[str, ...] | None:
        keys = writers.get(name, set())
        return next(iter(keys)) if len(keys) == 1 else None

    return _numbered(
        Item(
            (buffer["function"], buffer["name"], buffer["kind"]),
            {
                "pool": pool["name"],
                "offset": buffer["offset"],
                "size_bytes": buffer["size"],
                "live_ranges": buffer["live_ranges"],
            },
            producer(buffer["name"]),
        )
        for pool in pools
        for buffer in pool["buffers"]
    )


def _numbered(items: Iterable[Item]) -> list[Item]:
    """Make keys unique: append a number to the second and later items with the same key."""
    counts: Counter[tuple[str, ...]] = Counter()
    unique = []
    for item in items:
        counts[item.key] += 1
        number = counts[item.key]
        key = item.key if number == 1 else (*item.key, f"#{number}")
        unique.append(replace(item, key=key))
    return unique
