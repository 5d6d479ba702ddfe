"""State layouts as data: order, hash, JSON, and files that are damaged or made to do harm."""

from __future__ import annotations

import json
from dataclasses import replace
from random import Random

import numpy as np
import pytest

from support.json_mutations import mutated_fields
from usmp.objects import PlacedState, StateLayout
from usmp.objects.placed_state import digest_of

FIELDS = (
    *("name", "shape", "dtype", "pool_name"),
    *("byte_offset", "size_bytes", "alignment", "initial_value"),
)
ZEROS = digest_of(np.int8(0), [2, 3])


def state(name="a", offset=0, pool="sram", shape=(2, 3), dtype="int8", **fields) -> PlacedState:
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    return PlacedState(
        **{
            "name": name,
            "shape": list(shape),
            "dtype": dtype,
            "pool_name": pool,
            "byte_offset": offset,
            "size_bytes": size,
            "alignment": 4,
            "initial_value": ZEROS,
            **fields,
        }
    )


def changed(placed: PlacedState, **fields) -> PlacedState:
    return PlacedState(**{name: getattr(placed, name) for name in FIELDS} | fields)


LAYOUT = StateLayout(
    "m",
    (
        state("b", 8),
        state("a"),
        state("c", 4, "backup", (3,), "float32"),
        state("d", 16, shape=()),
    ),
)


def test_states_are_in_the_order_of_their_places():
    places = [(s.pool_name, s.byte_offset, s.name) for s in LAYOUT.states]
    assert places == [("backup", 4, "c"), ("sram", 0, "a"), ("sram", 8, "b"), ("sram", 16, "d")]
    assert StateLayout("m", tuple(reversed(LAYOUT.states))) == LAYOUT


def test_json():
    text = LAYOUT.to_json()
    document = json.loads(text)
    assert list(document) == ["version", "module", "hash", "pools"]
    assert (document["version"], document["module"]) == (1, "m")
    assert document["hash"] == LAYOUT.hash_text == f"0x{LAYOUT.hash:016x}"
    assert {pool: [s["name"] for s in states] for pool, states in document["pools"].items()} == {
        "backup": ["c"],
        "sram": ["a", "b", "d"],
    }
    assert document["pools"]["backup"] == [
        {
            "name": "c",
            "dtype": "float32",
            "shape": [3],
            "offset": 4,
            "size": 12,
            "alignment": 4,
            "initial_value": ZEROS,
        }
    ]
    assert text.endswith("}\n")
    for content in (text, text.encode()):
        read = StateLayout.from_json(content)
        assert read == LAYOUT
        assert read.to_json() == text


def test_names_of_any_kind_are_read_back():
    names = ["\x1b[31m", "\u202e", '"\\\n', "*/", "n" * 5000, "ü"]
    placed = tuple(state(name, 8 * i, name) for i, name in enumerate(names))
    layout = StateLayout("*/\n", placed)
    assert StateLayout.from_json(layout.to_json()) == layout
    assert layout.to_json().isascii()


def test_the_hash_is_the_same_everywhere():
    assert LAYOUT.hash_text == "0x4659e2e54d23c68e"


@pytest.mark.parametrize(
    "fields",
    [
        {"name": "e"},
        {"shape": [3, 2]},
        {"dtype": "uint8"},
        {"pool_name": "backup", "byte_offset": 16},
        {"byte_offset": 24},
        {"initial_value": digest_of(np.int8(1), [2, 3])},
    ],
    ids=str,
)
def test_what_changes_the_hash(fields):
    first, *others = LAYOUT.states[1:]
    assert StateLayout("m", (*others, changed(first, **fields))).hash != (
        StateLayout("m", (*others, first)).hash
    )


def test_the_hash_is_that_of_the_module_too():
    assert replace(LAYOUT, module_name="n").hash != LAYOUT.hash


def test_the_alignment_does_not_change_the_hash():
    """The bytes are the same, wherever they could have been."""
    first, *others = LAYOUT.states
    again = StateLayout("m", (changed(first, alignment=1), *others))
    assert again.hash == LAYOUT.hash
    assert again != LAYOUT


def test_digests_of_initial_values():
    full = np.full((2, 3), -7, np.int8)
    assert digest_of(full, [2, 3]) == digest_of(np.int8(-7), [2, 3])
    different = [
        digest_of(full, [2, 3]),
        digest_of(full.reshape(3, 2), [3, 2]),
        digest_of(np.int8(-6), [2, 3]),
        digest_of(np.uint8(249), [2, 3]),
        digest_of(np.arange(6, dtype=np.int8).reshape(2, 3), [2, 3]),
        digest_of(np.float32(0.0), [2, 3]),
        digest_of(np.float32(-0.0), [2, 3]),
    ]
    assert len(set(different)) == len(different)
    assert all(len(digest) == 16 for digest in different)
    digest_of(np.int8(0), [2**40, 2**20])  # no such tensor is made


@pytest.mark.parametrize(
    ("states", "message"),
    [
        ([state(), state(offset=8)], 'state "a" comes twice'),
        ([state(), state(pool="backup")], 'state "a" comes twice'),
        ([state(name="")], "a state or a pool has no name"),
        ([state(pool="")], "a state or a pool has no name"),
        (
            [state("a"), state("b", 4)],
            'states "a" (bytes 0 to 5) and "b" (from byte 4) of pool "sram" overlap',
        ),
        (
            [state("a", 0, shape=(40,)), state("z", 8, shape=(0,)), state("b", 16)],
            'states "a" (bytes 0 to 39) and "b" (from byte 16) of pool "sram" overlap',
        ),
        (
            [state(offset=2)],
            'state "a" cannot be at byte 2, which must be a multiple of 4, 0 or more',
        ),
        (
            [state(offset=-4)],
            'state "a" cannot be at byte -4, which must be a multiple of 4, 0 or more',
        ),
        ([state(alignment=0)], 'the alignment of state "a" must be a power of two, not 0'),
        ([state(alignment=-1)], 'the alignment of state "a" must be a power of two, not -1'),
        ([state(alignment=12)], 'the alignment of state "a" must be a power of two, not 12'),
        ([state(size_bytes=7)], 'state "a" is int8[2, 3], which are not 7 bytes'),
        ([state(shape=(-2, -3))], 'state "a" is int8[-2, -3], which are not 6 bytes'),
        ([changed(state(), dtype="int9000")], '"int9000" is no element type'),
        (
            [state(offset=2**63 - 4)],
            'state "a" would end at byte 9223372036854775810, beyond 63 bits',
        ),
    ],
)
def test_places_that_are_refused(states, message):
    with pytest.raises(ValueError) as error:
        StateLayout("m", tuple(states))
    assert str(error.value) == message


def test_a_module_without_a_name():
    with pytest.raises(ValueError, match=r"^the name of the module is empty$"):
        StateLayout("", ())


# ---- files

DOCUMENT = json.loads(LAYOUT.to_json())


def edited(*path, value=None) -> str:
    """The document with another value at `path`, or without it."""
    document = json.loads(LAYOUT.to_json())
    holder = document
    for key in path[:-1]:
        holder = holder[key]
    if value is None:
        del holder[path[-1]]
    else:
        holder[path[-1]] = value
    return json.dumps(document)


FIRST = ("pools", "sram", 0)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "it is not JSON"),
        ("{", "it is not JSON"),
        ("\ud800", "it is not JSON"),
        ("[" * 100_000, "it is not JSON"),
        (b"\xff\xfe\x00", "it is not JSON"),
        (LAYOUT.to_json()[:-10], "it is not JSON"),
        ("[]", "it is no JSON object"),
        ("3", "it is no JSON object"),
        ('{"version": 1, "version": 1}', 'it has "version" twice in one object'),
        ('{"version": 2}', "it is of version 2; this usmp reads version 1"),
        ('{"version": true}', "it is of version True; this usmp reads version 1"),
        ("{}", 'it has no "hash"'),
        (edited("module"), 'it has no "module"'),
        (edited("module", value=3), 'it has no valid "module"'),
        (edited("more", value=3), 'it has "more", which is unknown'),
        (edited("pools", value=[]), 'it has no valid "pools"'),
        (edited("pools", "sram", value={}), 'pool "sram" has no list of states'),
        (edited("pools", "sram", value=[]), 'pool "sram" has no list of states'),
        (edited("pools", "sram", 1, value=7), 'state 1 of pool "sram" is no JSON object'),
        (edited(*FIRST, "offset"), 'state 0 of pool "sram" has no "offset"'),
        (edited(*FIRST, "offset", value=-4), 'state 0 of pool "sram" has no valid "offset"'),
        (edited(*FIRST, "offset", value=True), 'state 0 of pool "sram" has no valid "offset"'),
        (edited(*FIRST, "size", value=2**63), 'state 0 of pool "sram" has no valid "size"'),
        (edited(*FIRST, "offset", value=2**40 + 4), 'state 0 of pool "sram" has no valid "offset"'),
        (edited(*FIRST, "size", value=1.5), 'state 0 of pool "sram" has no valid "size"'),
        (edited(*FIRST, "shape", value=[1] * 65), 'state 0 of pool "sram" has no valid "shape"'),
        (edited(*FIRST, "shape", value=["1"]), 'state 0 of pool "sram" has no valid "shape"'),
        (edited(*FIRST, "name", value="\ud800"), 'state 0 of pool "sram" has no valid "name"'),
        (edited(*FIRST, "dtype", value="x\x1b"), '"x\\x1b" is no element type'),
        (
            edited(*FIRST, "offset", value=4),
            'states "a" (bytes 4 to 9) and "b" (from byte 8) of pool "sram" overlap',
        ),
        (
            edited(*FIRST, "offset", value=32),
            f"its hash is {LAYOUT.hash_text}, but that of its content is 0x",
        ),
        (edited("hash", value="0x0"), "its hash is 0x0, but that of its content is 0x"),
        (json.dumps({"version": 10**30}), "it has a number of 31 digits"),
        ('{"version": NaN}', "it has the number NaN"),
        (" " * (2**24 + 1), "it has 16777217 bytes; it may have 16777216 at most"),
    ],
    ids=range(35),
)
def test_texts_that_are_no_layout(content, message):
    with pytest.raises(ValueError) as error:
        StateLayout.from_json(content)
    assert str(error.value).startswith(message)


@pytest.mark.slow
def test_a_damaged_file_is_never_taken_for_another_layout():
    """Whatever is changed, the text is refused, or means the same."""
    random = Random(0)
    for _ in range(600):
        text = json.dumps(mutated_fields(DOCUMENT, random))
        try:
            read = StateLayout.from_json(text)
        except ValueError:
            continue
        assert read.hash == LAYOUT.hash


def test_files(tmp_path):
    path = tmp_path / "layout.json"
    path.write_text(LAYOUT.to_json())
    assert StateLayout.read(path) == StateLayout.read(str(path)) == LAYOUT
    path.write_bytes(b"nonsense")
    with pytest.raises(ValueError) as error:
        StateLayout.read(path)
    assert str(error.value) == f"{path}: not a state layout: it is not JSON"
    with pytest.raises(FileNotFoundError):
        StateLayout.read(tmp_path / "none")


def test_equal_layouts_have_equal_hashes():
    again = StateLayout.from_json(LAYOUT.to_json())
    assert again == LAYOUT
    assert hash(again) == hash(LAYOUT)
