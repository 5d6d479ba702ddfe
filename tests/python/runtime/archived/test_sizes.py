"""Symbolic sizes and the shapes that depend on them, as metadata.json has them, or refused."""

from __future__ import annotations

import pytest

from usmp.plain.entry_size import LARGEST_SIZE, EntrySize
from usmp.plain.size_expression import computed_text
from usmp.runtime.archived.read_metadata import DamagedMetadata
from usmp.runtime.archived.sizes import is_unbounded, read_extents, read_sizes

N = EntrySize("n", "n", 2, 8)
OPEN = EntrySize("m", "m", 3, None)
SIZES = {"n": N, "m": OPEN}


def described(**known):
    return {"n": {"c_name": "n", "min": 2, "max": 8, **known}}


def refusal(function, *arguments):
    with pytest.raises(DamagedMetadata) as error:
        function(*arguments)
    return str(error.value)


def test_there_may_be_no_sizes():
    assert read_sizes({}, "net") == {}
    assert read_sizes({"sizes": {}}, "net") == {}


def test_sizes_are_read_with_their_bounds():
    sizes = {**described(), "m": {"c_name": "m", "min": 3, "max": None}}
    assert read_sizes({"sizes": sizes}, "net") == {"n": N, "m": OPEN}
    for known in ({"min": 1, "max": 1}, {"min": LARGEST_SIZE, "max": LARGEST_SIZE}):
        (found,) = read_sizes({"sizes": described(**known)}, "net").values()
        assert (found.lower_bound, found.upper_bound) == (known["min"], known["max"])


@pytest.mark.parametrize(
    ("known", "key"),
    [
        ({"min": 0}, "min"),
        ({"min": True}, "min"),
        ({"min": 1.0}, "min"),
        ({"min": LARGEST_SIZE + 1}, "min"),
        ({"max": 1}, "max"),
        ({"max": LARGEST_SIZE + 1}, "max"),
        ({"max": "8"}, "max"),
        ({"max": True, "min": 1}, "max"),
        ({"c_name": "a b"}, "c_name"),
    ],
)
def test_a_damaged_size_is_refused(known, key):
    assert refusal(read_sizes, {"sizes": described(**known)}, "net") == (
        f'size "n" of net has no valid "{key}"'
    )


def test_sizes_that_are_no_object_are_refused():
    assert refusal(read_sizes, {"sizes": []}, "net") == 'net has no valid "sizes"'


def workspace(**known):
    said = {"pool": "sram", "values": [["a", ["*", "n", 4]]], "bytes": ["+", "a", 16], **known}
    return {"sizes": described(), "workspace_sizes": [{"text": "a = n * 4; a + 16", **said}]}


def valid_text(**known):
    """The text that belongs to what is said."""
    said = workspace(**known)["workspace_sizes"][0]
    return computed_text([tuple(pair) for pair in said["values"]], said["bytes"])


@pytest.mark.parametrize(
    "known",
    [
        {},
        {"values": [], "bytes": ["*", "n", 4]},
        # A value may be computed from an earlier one.
        {"values": [["a", ["*", "n", 4]], ["b", ["+", "a", "n"]]], "bytes": ["+", "b", "a"]},
    ],
)
def test_bytes_of_runs_are_computed_from_sizes_and_earlier_values(known):
    main = workspace(text=valid_text(**known), **known)
    assert read_sizes(main, "net") == {"n": N}


@pytest.mark.parametrize(
    ("known", "key"),
    [
        ({"values": [["a", "m"]]}, "values"),
        ({"values": [["a", ["+", "b", 1]], ["b", "n"]]}, "values"),
        # A name that is taken.
        ({"values": [["n", 1]]}, "values"),
        ({"values": [["a", 1], ["a", 2]]}, "values"),
        ({"values": [["a"]]}, "values"),
        ({"values": [["a", 1, 2]]}, "values"),
        ({"values": ["ab"]}, "values"),
        ({"values": [["a b", 1]]}, "values"),
        ({"bytes": ["+", "b", 1]}, "bytes"),
        ({"text": "something else"}, "text"),
    ],
)
def test_bytes_of_runs_that_cannot_be_computed_are_refused(known, key):
    main = workspace(**{"text": valid_text(), **known})
    expected = f'what "sram" of net takes has no valid "{key}"'
    assert refusal(read_sizes, main, "net") == expected


def test_bytes_of_runs_name_their_pool():
    assert refusal(read_sizes, workspace(pool=1), "net") == 'net has no valid "pool"'
    main = {"sizes": described(), "workspace_sizes": [1]}
    assert refusal(read_sizes, main, "net") == 'net has no valid "workspace_sizes"'


@pytest.mark.parametrize(
    ("extents", "expected"),
    [([], False), ([4, "n"], False), (["n", ["*", "m", 2]], True), (["m"], True)],
)
def test_a_shape_is_unbounded_if_any_of_its_sizes_is(extents, expected):
    assert is_unbounded(extents, SIZES) is expected


def extents(shape, symbolic, text=None, **known):
    said = {"symbolic_shape": symbolic, "symbolic_shape_text": text, **known}
    return read_extents(said, shape, SIZES, "tensor x")


@pytest.mark.parametrize(
    ("shape", "symbolic", "text"),
    [
        ([8, 4], ["n", 4], "[n, 4]"),
        ([16], [["*", "n", 2]], "[n * 2]"),
        # A size without an upper bound counts with its lower one.
        ([3, 8], ["m", "n"], "[m, n]"),
    ],
)
def test_extents_are_at_most_the_shape(shape, symbolic, text):
    assert extents(shape, symbolic, text) == symbolic


def test_a_shape_without_sizes_has_no_extents():
    assert read_extents({}, [4], SIZES, "tensor x") == []


@pytest.mark.parametrize(
    ("shape", "symbolic"),
    [([7], ["n"]), ([9], ["n"]), ([2], [["-", 10, "n"]]), ([0], [["-", 8, "n"]])],
)
def test_another_shape_at_the_largest_sizes_is_refused(shape, symbolic):
    message = refusal(extents, shape, symbolic)
    assert message.endswith(f"is not {shape} at most, as it says")


@pytest.mark.parametrize(
    ("shape", "symbolic"),
    [([8], ["n", 4]), ([8], ["k"]), ([8, 4], ["n", ["?", 1, 2]]), ([8], "n"), ([8, 1], ["n"])],
)
def test_extents_that_are_no_expressions_of_the_sizes_are_refused(shape, symbolic):
    assert refusal(extents, shape, symbolic) == 'tensor x has no valid "symbolic_shape"'


def test_another_text_and_rows_are_refused():
    message = 'tensor x has no valid "symbolic_shape_text"'
    assert refusal(extents, [8], ["n"], "[m]") == message
    with pytest.raises(DamagedMetadata, match="given or taken by rows, and depends on sizes"):
        extents([8], ["n"], "[n]", by_rows={})
