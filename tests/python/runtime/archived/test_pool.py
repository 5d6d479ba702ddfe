"""What metadata.json says of a pool: each value is read, each wrong one is refused."""

from __future__ import annotations

import pytest

from support.all_cases import check_all
from usmp.plain.buffer_place import BufferInfoKind
from usmp.runtime.archived.pool import read_pool
from usmp.runtime.archived.read_metadata import DamagedMetadata

WHERE = 'pool "sram" of module "m"'
A = f'buffer "a" of {WHERE}'
BUFFER = {
    "name": "a",
    "kind": "intermediate",
    "function": "main",
    "offset": 16,
    "size": 48,
    "alignment": 8,
    "live_ranges": [[0, 1], [3, 5]],
    "identical": ["twin"],
    "overlaps": {"b": {"shared": 8, "distance": 24}},
}
OTHER = {**BUFFER, "name": "b", "kind": "constant", "offset": 0, "size": 4, "overlaps": {}}
POOL = {
    "name": "sram",
    "c_name": "sram_pool",
    "kind": "workspace",
    "internal": False,
    "size_hint_bytes": 128,
    "size_bytes": 64,
    "alignment_bytes": 16,
    "peak_bytes": 60,
    "memory_pressure_bytes": 52,
    "lower_bound_bytes": 44,
    "optimal": False,
    "live_at_peak": ["a"],
    "buffers": [BUFFER, OTHER],
}
PLACE = {"address": 1012, "first_byte": 12, "pool_offset_bytes": 12, "buffer_alignment_bytes": 8}


def read(entries=("main",), **changes):
    return read_pool({**POOL, **changes}, entries, 'module "m"')


def with_buffer(**changes):
    return {"buffers": [{**BUFFER, **changes}, OTHER]}


def test_each_value_is_read():
    pool = read()
    assert (pool.name, pool.c_name, pool.is_constant, pool.is_internal) == (
        *("sram", "sram_pool"),
        *(False, False),
    )
    sizes = (pool.size_hint_bytes, pool.size_bytes, pool.alignment_bytes, pool.peak_bytes)
    assert sizes == (128, 64, 16, 60)
    assert (pool.memory_pressure_bytes, pool.live_at_peak) == (52, ["a"])
    assert (pool.lower_bound_bytes, pool.is_optimal) == (44, False)
    assert (pool.first_byte, pool.address, pool.is_empty) == (0, None, False)
    assert read(kind="constant").is_constant
    assert read(internal=True).is_internal
    assert read(size_hint_bytes=-1).size_hint_bytes == -1


def test_each_value_of_a_buffer_is_read():
    a, b = read().buffers
    assert (a.name, a.function, a.pool_name) == ("a", "main", "sram")
    assert (a.byte_offset, a.size_bytes, a.alignment) == (16, 48, 8)
    # The kind of constants is that of buffers which are neither input nor output.
    assert a.kind == b.kind == BufferInfoKind.INTERMEDIATE
    (state,) = read(buffers=[{**OTHER, "kind": "state"}], live_at_peak=[]).buffers
    assert state.kind == BufferInfoKind.STATE


@pytest.mark.parametrize(
    ("changes", "declared"),
    [
        ({}, 64),
        ({"first_byte": 16}, 80),
        ({"first_byte": 16, "internal": True}, 64),
        ({"size_bytes": 0, "peak_bytes": 0, "buffers": [], "live_at_peak": []}, 0),
        # An array of the application has a byte at least.
        (
            {
                "size_bytes": 0,
                "peak_bytes": 0,
                "buffers": [{**OTHER, "size": 0}],
                "live_at_peak": [],
            },
            1,
        ),
        (
            {
                "size_bytes": 0,
                "peak_bytes": 0,
                "buffers": [{**OTHER, "size": 0}],
                "live_at_peak": [],
                "internal": True,
            },
            0,
        ),
    ],
)
def test_bytes_that_the_header_declares(changes, declared):
    pool = read(**changes)
    assert pool.declared_bytes == declared
    assert pool.is_empty == (changes.get("buffers") == [])


def test_places():
    pool = read(**PLACE)
    assert (pool.first_byte, pool.address) == (12, 1012)
    assert read(first_byte=32).first_byte == 32
    assert read(first_byte=3, alignment_bytes=1).first_byte == 3
    assert read(address=0).address == 0
    # The offset is the least, and lines may be those of the whole pool.
    assert read(**{**PLACE, "pool_offset_bytes": 11}).first_byte == 12
    assert read(**{**PLACE, "buffer_alignment_bytes": 16}).first_byte == 12
    # Of a pool in which nothing lies, no place is wrong.
    assert read(first_byte=3, buffers=[], live_at_peak=[]).first_byte == 3


def test_wrong_values():
    def refused(changes: dict[str, object], fault: str, entries=("main",)) -> None:
        with pytest.raises(DamagedMetadata) as error:
            read(entries, **changes)
        assert str(error.value) == fault

    pool = {
        "c_name": "1st",
        "kind": "stack",
        "internal": 1,
        "size_hint_bytes": -2,
        "size_bytes": -1,
        "alignment_bytes": 0,
        "peak_bytes": 65,
        "memory_pressure_bytes": -1,
        "lower_bound_bytes": -1,
        "optimal": 1,
        "live_at_peak": ["a", "c"],
        "buffers": {},
        "io": "any",
        "first_byte": -1,
        "pool_offset_bytes": 17,
        "address": "here",
        "buffer_alignment_bytes": 12,
    }
    # Of the place, one sentence says that its parts do not fit.
    named = {"pool_offset_bytes": "first_byte"}
    cases = {
        key: ({key: value}, f'{WHERE} has no valid "{named.get(key, key)}"')
        for key, value in pool.items()
    }
    cases |= {
        "name": ({"name": 1}, 'a pool of module "m" has no valid "name"'),
        "live names": ({"live_at_peak": [1]}, f'{WHERE} has no valid "live_at_peak"'),
        "overlap": (
            with_buffer(overlaps={"c": {"shared": 1, "distance": 1}}),
            f'{A} has no valid "overlaps"',
        ),
        "no entries": ({}, f'{WHERE} has no valid "entries_at_peak"', ("x", "y")),
        "unknown entry": (
            {"entries_at_peak": ["x", "z"]},
            f'{WHERE} has no valid "entries_at_peak"',
            ("x", "y"),
        ),
        "first byte": ({"first_byte": 8}, f'{WHERE} has no valid "first_byte"'),
        "address": ({"address": 8}, f'{WHERE} has no valid "first_byte"'),
        "lines": ({"buffer_alignment_bytes": 32}, f'{WHERE} has no valid "first_byte"'),
        "end": (with_buffer(offset=17), f'{WHERE} of 64 bytes does not hold buffer "a"'),
    }
    buffer = {
        "name": 1,
        "function": None,
        "kind": "pool",
        "offset": -1,
        "size": -1,
        "alignment": -1,
        "live_ranges": [[1, 1]],
        "identical": [1],
        "overlaps": [],
    }
    for key, value in buffer.items():
        where = f"a buffer of {WHERE}" if key == "name" else A
        cases[f"{key} of a buffer"] = with_buffer(**{key: value}), f'{where} has no valid "{key}"'
    for key in ("shared", "distance"):
        overlap = {**BUFFER["overlaps"]["b"], key: -1}
        fault = f'an overlap of {A} has no valid "{key}"'
        cases[f"{key} of an overlap"] = with_buffer(overlaps={"b": overlap}), fault
    check_all(cases, refused)


def test_entries_at_the_peak_are_those_of_the_module():
    assert read(("x", "y"), entries_at_peak=["y"]).name == "sram"
    # One entry needs no list.
    assert read(("x",), entries_at_peak=["z"]).name == "sram"
    assert read(io="only").name == read(io="no").name == "sram"


def test_a_buffer_may_end_where_the_pool_does():
    assert read(**with_buffer(offset=16, size=48)).size_bytes == 64
    assert read(peak_bytes=64).peak_bytes == 64
    assert read(peak_bytes=0, size_hint_bytes=0).peak_bytes == 0
