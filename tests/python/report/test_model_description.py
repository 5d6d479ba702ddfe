"""What a model file or an archive has, as a person reads it."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from usmp.report.model_description import description_json, print_description


def tensor(name="x", shape=(1, 4), **known):
    facts = {"dtype": "int8", "shape": list(shape), "scale": None, "zero_point": None}
    return {"name": name, **facts, **known}


def described(inputs=(), outputs=(), **known):
    facts = {"inputs": list(inputs), "outputs": list(outputs), "states": []}
    return {"file": "m.tflite", "format": "TFLite", **facts, **known}


def lines(description):
    text = io.StringIO()
    print_description(description, Console(file=text, width=100))
    return [" ".join(line.split()) for line in text.getvalue().splitlines() if line.strip()]


def shown(row):
    """The line of one tensor."""
    return next(line for line in lines(described([row])) if line.startswith("input "))


def test_tensors_are_in_a_table():
    found = lines(described([tensor("a")], [tensor("y", (2,), dtype="float32")]))
    assert found[0] == "m.tflite: TFLite"
    assert found[1] == "inputs and outputs"
    assert "input a int8 1x4" in found and "output y float32 2" in found
    assert not any("scale" in line for line in found)


@pytest.mark.parametrize(
    ("known", "shape"),
    [
        ({"shape": []}, "scalar"),
        ({"shape": [None, 4]}, "?x4"),
        ({"shape": ["n", 4, None]}, "[n, 4, ?]"),
        ({"symbolic_shape": ["n", 4]}, "[n, 4]"),
    ],
)
def test_shapes_say_what_is_known(known, shape):
    assert shown(tensor(**known)) == f"input x int8 {shape}"


def test_quantized_tensors_have_columns_of_their_own():
    quantized = tensor(scale=0.5, zero_point=-3)
    found = lines(described([quantized], [tensor("y")]))
    assert any("scale" in line and "zero point" in line for line in found)
    assert "input x int8 1x4 0.5 -3" in found and "output y int8 1x4" in found
    assert shown(tensor(scale=1e-7, zero_point=0)).endswith("1e-07 0")


def test_updated_inputs_are_said():
    found = lines(described([tensor("s", updated=True), tensor("x", updated=False)]))
    assert "input, updated s int8 1x4" in found and "input x int8 1x4" in found


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        (None, ["States: not known, since the model cannot be imported"]),
        ([], []),
        (
            [
                {"name": "s", "bytes": 4, "changed": True},
                {"name": "t", "bytes": 8, "changed": False},
            ],
            ["States: s (4 bytes), t (8 bytes, only read)"],
        ),
    ],
)
def test_states_are_said(states, expected):
    assert [each for each in lines(described(states=states)) if "States" in each] == expected


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        ({"upper_bound": 8}, "n (1 to 8)"),
        ({"upper_bound": None}, "n (1 and more; --max n=N says how large it may be)"),
        (
            {"taken_as": 2},
            "n (taken as 2; --input-shapes gives another number, --max n=N a range)",
        ),
    ],
)
def test_sizes_are_said_with_what_changes_them(known, expected):
    size = {"name": "n", "lower_bound": 1, "upper_bound": None, "taken_as": None, **known}
    found = [line for line in lines(described(sizes=[size])) if line.startswith("Sizes")]
    assert found == [f"Sizes: {expected}"]
    assert not any(line.startswith("Sizes") for line in lines(described(sizes=[])))


def test_each_entry_has_a_table_and_sizes_of_its_own():
    size = {"name": "n", "lower_bound": 1, "upper_bound": 8, "taken_as": None}
    entries = [
        {"entry": "a", "inputs": [tensor()], "outputs": [], "states": [], "sizes": [size]},
        {"entry": "b", "inputs": [], "outputs": [tensor("y")], "states": None},
    ]
    found = lines({"file": "m", "format": "F", "entries": entries})
    assert "inputs and outputs of entry a" in found and "inputs and outputs of entry b" in found
    # The heading is there once, and the table has none.
    assert "inputs and outputs" not in found
    assert found.count("Sizes: n (1 to 8)") == 1
    shared = lines({"file": "m", "format": "F", "entries": entries[1:], "sizes": [size]})
    assert shared.count("Sizes: n (1 to 8)") == 1
    alone = lines(described(sizes=[size]))
    assert alone.count("Sizes: n (1 to 8)") == 1


def test_modules_of_an_archive_are_said_with_pools_and_state():
    facts = {"inputs": [tensor()], "outputs": [], "states": []}
    pools = [{"name": "sram", "kind": "workspace", "bytes": 64}]
    module = {"name": "net", "c_prefix": "tvmgen_net", **facts}
    modules = [{**module, "pools": pools, "state_size_bytes": 4}, {**module, "name": "other"}]
    found = lines({"file": "a.tar", "format": "archive", "modules": modules})
    assert 'module "net", C symbols tvmgen_net_*' in found
    assert 'module "other", C symbols tvmgen_net_*' in found
    assert "sram workspace 64" in found and found.count("pools") == 1
    assert found.count("State between runs: 4 bytes") == 1
    assert not any(line.startswith("module ") for line in lines(described()))
    assert not any("State between" in line for line in lines(described(state_size_bytes=0)))


def test_operators_are_counted():
    found = lines(described(operators={"ADD": 2, "CONV_2D": 10}))
    assert "operators" in found and "ADD 2" in found and "CONV_2D 10" in found


@pytest.mark.parametrize(
    ("signatures", "expected"),
    [
        (["a"], "Signature: a, which is compiled"),
        (["a", "b"], "Signatures: a, b, each compiled as an entry"),
    ],
)
def test_signatures_are_said(signatures, expected):
    assert expected in lines(described(signatures=signatures))
    assert not any("Signature" in line for line in lines(described(signatures=[])))


def test_numbers_are_aligned_to_the_right():
    text = io.StringIO()
    description = described(operators={"A": 5, "B": 1000})
    print_description(description, Console(file=text, width=100))
    rows = [line for line in text.getvalue().splitlines() if line.split()[:1] in (["A"], ["B"])]
    assert len({len(row.rstrip()) for row in rows}) == 1


def test_json_is_indented_and_ends_the_line():
    assert description_json({"file": "m"}) == '{\n  "file": "m"\n}\n'
