"""The table that `tvmc compile` ends with, of a model with several entries."""

from __future__ import annotations

from typing import Any

from support.memory_summaries import pool, shown


def entry(name: str, io: int = 8, state: int = 0, *others: str) -> dict[str, Any]:
    return {
        "entry": name,
        "peak_bytes": {"sram": 30, "dtcm": 2},
        "io_size_bytes": io,
        "state_size_bytes": state,
        "concurrent_with": list(others),
        "inputs": {},
        "outputs": {},
    }


def of_entries(entries: list[dict[str, Any]], peak_in: list[str]) -> list[str]:
    """The summary of a model with several entries and one workspace pool."""
    sram = pool("sram", "workspace", 40, 40, ("state a", 8), ("b", 30))
    pools = [sram | {"entries_at_peak": peak_in}]
    pools += [pool("flash", "constant", 70, 70) | {"size_bytes": 70}]
    ram = {"size_bytes": 60, "workspace_size_bytes": 40, "io_size_bytes": 20, "state_size_bytes": 8}
    memory = {"algorithm": "mine", "pools": pools, "functions": {"main": entries}, "ram": ram}
    metadata = {"model_name": "net", "interface_api": "packed", "memory": memory}
    return shown(metadata, 200)


def test_entries():
    assert of_entries([entry("encode", 20, 8), entry("step")], ["encode"]) == [
        "Memory of net (mine)",
        "pool kind peak bytes lower bound ratio optimal",
        "sram workspace 40 40 1.000 yes",
        "flash constant 70 70 1.000 yes",
        "Entries",
        "entry peak bytes inputs and outputs state",
        "encode 32 20 8",
        "step 32 8 0",
        "Live at the peak of sram, in entry encode",
        "buffer offset bytes",
        "state a 0 8",
        "b 8 30",
        "State, 8 bytes, is kept between runs (8 in sram): nothing else may write these bytes.",
        "RAM 60 bytes = workspace 40 (state 8 of it) + inputs and outputs 20 (the most of one "
        "entry), without the stack.",
        "Inputs and outputs are provided by the application.",
        "Flash: constants 70 bytes, and the code once it is compiled.",
    ]


def test_entries_that_may_run_at_once():
    entries = [entry("a", 12, 0, "c"), entry("b", 8), entry("c", 8, 0, "a")]
    lines = of_entries(entries, ["a", "c"])
    assert lines[4:9] == [
        "Entries",
        "entry peak bytes inputs and outputs state may run at once with",
        "a 32 12 0 c",
        "b 32 8 0",
        "c 32 8 0 a",
    ]
    assert "Live at the peak of sram, in entries a, c" in lines
    assert (
        "RAM 60 bytes = workspace 40 (state 8 of it) + inputs and outputs 20 (the most of entries "
        "that run at once), without the stack." in lines
    )


def test_peak_of_an_operator_that_many_entries_call():
    entries = [entry(name) for name in "abcd"]
    assert "Live at the peak of sram, in entries a, b, c" in of_entries(entries, ["a", "b", "c"])
    assert "Live at the peak of sram, in 4 entries" in of_entries(entries, list("abcd"))


def test_peak_of_states_alone_is_in_no_entry():
    assert "Live at the peak of sram" in of_entries([entry("a"), entry("b")], [])


def test_no_name_of_an_entry_controls_the_terminal():
    name = "e\x1b[31m[red]:smile:"
    lines = of_entries([entry(name, 1, 1, name), entry("b")], [name])
    assert all(line.isprintable() for line in lines)
    assert "\n".join(lines).count("e\\x1b[31m[red]:smile:") == 3
