"""The entries of a module, as metadata.json has them, or refused."""

from __future__ import annotations

import pytest

from usmp.runtime.archived.entry import ArchivedTensor, read_entries
from usmp.runtime.archived.read_metadata import DamagedMetadata


def tensor(**known):
    return {"shape": [2, 3], "dtype": "int8", "size": 6, "c_name": "x", **known}


def main(inputs=None, outputs=None, **known):
    sizes = dict.fromkeys(("io_size_bytes", "state_size_bytes", "constants_size_bytes"), 0)
    return {"inputs": inputs or {}, "outputs": outputs or {}, **sizes, **known}


def shared(name, **known):
    """One of several entries."""
    facts = {"positions": [0, 2], "peak_bytes": {}, "states": {}, "concurrent_with": []}
    return main(entry=name, **{**facts, **known})


def read(*mains):
    return read_entries(list(mains), "tvmgen_net", "net")


def read_tensor(**known):
    (entry,) = read(main({"x": tensor(**known)})).values()
    return entry.inputs["x"]


def refusal(*mains):
    with pytest.raises(DamagedMetadata) as error:
        read(*mains)
    return str(error.value)


def tensor_refusal(**known):
    return refusal(main({"x": tensor(**known)})).removeprefix('tensor "x" of net ')


def test_an_earlier_archive_has_one_entry_without_a_name():
    (entry,) = read(main()).values()
    assert (entry.name, entry.c_prefix) == ("main", "tvmgen_net")
    assert (entry.sizes, entry.takes_arena) == ({}, False)


def test_several_entries_have_names():
    entries = read(
        shared("a"), shared("b", positions=[2, 5], takes_arena=True, concurrent_with=["a"])
    )
    assert list(entries) == ["a", "b"]
    assert [entry.c_prefix for entry in entries.values()] == ["tvmgen_net_a", "tvmgen_net_b"]
    assert (entries["a"].takes_arena, entries["b"].takes_arena) == (False, True)
    (only,) = read(shared("step")).values()
    assert (only.name, only.c_prefix) == ("step", "tvmgen_net_step")


def test_a_tensor_is_read():
    found = read_tensor()
    assert (found.info.name, list(found.info.shape), found.info.dtype) == ("x", [2, 3], "int8")
    assert (found.info.scale, found.info.zero_point, found.is_updated) == (None, None, False)
    assert (found.c_name, found.pool_name, found.byte_offset) == ("x", None, None)
    assert (found.is_by_rows, found.is_unbounded, list(found.symbolic_shape)) == (False, False, [])
    assert found.members("inputs") == ["x"]


def test_a_tensor_is_given_as_a_whole_unless_it_is_said():
    found = ArchivedTensor(read_tensor().info, "x", None, None)
    assert (found.is_by_rows, found.is_unbounded) == (False, False)
    assert found.members("inputs") == ["x"]


def test_a_place_in_the_workspace_is_read():
    found = read_tensor(pool="sram", offset=16)
    assert (found.pool_name, found.byte_offset) == ("sram", 16)


@pytest.mark.parametrize("key", ["updated", "written"])
def test_inputs_that_runs_write_are_read(key):
    assert getattr(read_tensor(**{key: True}), f"is_{key}") is True
    assert tensor_refusal(**{key: 1}) == f'has no valid "{key}"'


def test_rows_are_read_and_are_those_of_the_shape():
    found = read_tensor(by_rows={"rows": 2, "row_size": 3})
    assert found.is_by_rows and found.members("inputs") == ["read_x", "x_context"]
    assert found.members("outputs") == ["write_x", "x_context"]
    for rows in ({"rows": 3, "row_size": 2}, {"rows": 2, "row_size": 6}, {}):
        assert tensor_refusal(by_rows=rows) == 'has no valid "by_rows"'


@pytest.mark.parametrize("zero_point", [-(2**63), 0, 2**63 - 1])
def test_a_quantization_is_read(zero_point):
    found = read_tensor(quantization={"scale": 0.5, "zero_point": zero_point})
    assert (found.info.scale, found.info.zero_point) == (0.5, zero_point)


@pytest.mark.parametrize(
    ("known", "key"),
    [
        ({"scale": 1}, "scale"),
        ({"scale": float("inf")}, "scale"),
        ({"scale": float("nan")}, "scale"),
        ({"zero_point": 0.0}, "zero_point"),
        ({"zero_point": 2**63}, "zero_point"),
        ({"zero_point": -(2**63) - 1}, "zero_point"),
    ],
)
def test_a_damaged_quantization_is_refused(known, key):
    quantization = {"scale": 0.5, "zero_point": 0, **known}
    assert tensor_refusal(quantization=quantization) == f'has no valid "{key}"'


@pytest.mark.parametrize(
    ("known", "key"),
    [
        ({"shape": [-1]}, "shape"),
        ({"shape": [2.0, 3]}, "shape"),
        ({"shape": 6}, "shape"),
        ({"shape": [1] * 33}, "shape"),
        ({"dtype": "int4"}, "dtype"),
        ({"dtype": "bfloat16"}, "dtype"),
        ({"size": None}, "size"),
        ({"size": 2**32 + 1}, "size"),
        ({"c_name": "a-b"}, "c_name"),
        ({"updated": 1}, "updated"),
        ({"pool": 1, "offset": 0}, "pool"),
        ({"pool": "sram"}, "offset"),
        ({"pool": "sram", "offset": -1}, "offset"),
    ],
)
def test_a_damaged_tensor_is_refused(known, key):
    assert tensor_refusal(**known) == f'has no valid "{key}"'


def test_as_many_axes_as_numpy_has_are_read():
    assert len(read_tensor(shape=[1] * 32, size=1).info.shape) == 32
    assert read_tensor(shape=[], size=1).info.size_bytes == 1


@pytest.mark.parametrize(
    ("dtype", "size"),
    [("bool", 1), ("uint16", 2), ("int32", 4), ("uint64", 8), ("float16", 2), ("float64", 8)],
)
def test_bytes_are_those_of_the_elements(dtype, size):
    assert read_tensor(dtype=dtype, size=6 * size).info.size_bytes == 6 * size
    expected = f"has {6 * size + 1} bytes, which is not {dtype}[2, 3]"
    assert tensor_refusal(dtype=dtype, size=6 * size + 1) == expected


def sized(high, size, shape):
    symbolic = {"symbolic_shape": ["n"], "symbolic_shape_text": "[n]"}
    sizes = {"n": {"c_name": "n", "min": 2, "max": high}}
    return main({"x": tensor(shape=shape, size=size, **symbolic)}, sizes=sizes)


def test_a_tensor_without_a_largest_size_has_no_bytes():
    (entry,) = read(sized(None, None, [2])).values()
    assert entry.inputs["x"].is_unbounded and list(entry.sizes) == ["n"]
    (bounded,) = read(sized(8, 8, [8])).values()
    assert not bounded.inputs["x"].is_unbounded
    assert list(bounded.inputs["x"].symbolic_shape) == ["n"]
    assert refusal(sized(None, 2, [2])) == 'tensor "x" of net has no valid "size"'


def test_updated_inputs_are_results_behind_the_outputs():
    inputs = {"x": tensor(), "s": tensor(updated=True), "t": tensor(updated=False)}
    (entry,) = read(main(inputs, {"y": tensor()})).values()
    assert list(entry.results) == ["y", "s"]


@pytest.mark.parametrize(
    ("inputs", "outputs", "expected"),
    [
        (
            {"s": tensor(updated=True)},
            {"s": tensor()},
            'input "s" of net is updated by a run, and cannot be an output, too',
        ),
        (
            {"s": tensor(updated=True, by_rows={"rows": 2, "row_size": 3})},
            {},
            'input "s" of net is updated by a run, and cannot be given by rows',
        ),
        ({}, {"y": tensor(updated=True)}, 'output "y" of net has an invalid "updated"'),
    ],
)
def test_what_cannot_be_updated_is_refused(inputs, outputs, expected):
    assert refusal(main(inputs, outputs)) == expected


def test_an_input_and_an_output_may_have_one_name():
    (entry,) = read(main({"x": tensor()}, {"x": tensor()})).values()
    assert list(entry.inputs) == list(entry.outputs) == ["x"]


@pytest.mark.parametrize("mains", [[], [{}], [1], [{"inputs": {}}], [{"inputs": 1, "outputs": 1}]])
def test_entries_without_tensors_are_refused(mains):
    assert refusal(*mains) == "net lacks its inputs, outputs or pools"


@pytest.mark.parametrize(
    ("mains", "expected"),
    [
        ([main(), main()], 'net has no valid "entry"'),
        ([main(entry="a b")], 'net has no valid "entry"'),
        ([main(entry="a" * 65)], 'net has no valid "entry"'),
        ([shared("a"), shared("b"), shared("b")], 'net has the entry "b" twice'),
        ([main(io_size_bytes=-1)], 'net has no valid "io_size_bytes"'),
        ([main(state_size_bytes=None)], 'net has no valid "state_size_bytes"'),
        ([main(constants_size_bytes="0")], 'net has no valid "constants_size_bytes"'),
        ([main(takes_arena=1)], 'net has no valid "takes_arena"'),
    ],
)
def test_damaged_entries_are_refused(mains, expected):
    assert refusal(*mains) == expected


def test_a_name_of_64_characters_is_read():
    assert list(read(main(entry="a" * 64))) == ["a" * 64]


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ({"positions": [2, 2]}, 'entry "b" of net has no valid "positions"'),
        ({"peak_bytes": []}, 'entry "b" of net has no valid "peak_bytes"'),
        ({"peak_bytes": {"sram": -1}}, '"peak_bytes" of entry "b" of net has no valid "sram"'),
        ({"states": []}, 'entry "b" of net has no valid "states"'),
        (
            {"states": {"s": {"size": -1, "changed": True}}},
            'state "s" of entry "b" of net has no valid "size"',
        ),
        (
            {"states": {"s": {"size": 1, "changed": 1}}},
            'state "s" of entry "b" of net has no valid "changed"',
        ),
        ({"concurrent_with": ["c"]}, 'entry "b" of net has no valid "concurrent_with"'),
        ({"concurrent_with": [1]}, 'entry "b" of net has no valid "concurrent_with"'),
    ],
)
def test_what_entries_share_is_checked_of_several(known, expected):
    assert refusal(shared("a"), shared("b", **known)) == expected
    assert list(read(shared("b", **known))) == ["b"]


def test_what_entries_share_is_read():
    states = {"s": {"size": 4, "changed": False}}
    entries = read(shared("a"), shared("b", states=states, peak_bytes={"sram": 0}))
    assert list(entries) == ["a", "b"]
