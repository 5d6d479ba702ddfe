"""The C of a self test: runs, their tensors, and what the number that it returns means."""

from __future__ import annotations

import numpy as np

from support.archived_views import entry, module
from usmp.device.golden_runs import GoldenRun
from usmp.device.self_test_source import print_self_test

NET = module([entry(name="first"), entry(name="second")])


def run(outputs, inputs=None, name="first", sizes=None):
    return GoldenRun(name, sizes or {}, inputs or {}, outputs)


def array(text, name):
    """The elements of a constant array."""
    return text.split(f" {name}[] = {{")[1].split("}")[0].replace("\n", " ").split()


def test_runs_are_listed_with_the_number_of_their_entry():
    runs = [run({}, name="second", sizes={"n": 3, "m": 5}), run({}), run({}, name="second")]
    text = print_self_test(NET, runs)
    rows = text.split("runs[] = {\n")[1].split("\n};")[0].split("\n")
    assert rows == [
        "    {1, sizes_0, inputs_0, outputs_0},",
        "    {0, sizes_1, inputs_1, outputs_1},",
        "    {1, sizes_2, inputs_2, outputs_2},",
    ]
    assert array(text, "sizes_0") == ["3,", "5"]
    assert array(text, "sizes_1") == ["0"]
    assert "return usmp_self_test(&tvmgen_net_device, runs, 3);" in text


def test_the_comment_numbers_runs_from_one_and_outputs_through_all_runs():
    one, two = np.zeros(1, "int8"), np.zeros(1, "int8")
    runs = [run({"y": one, "z": two}, sizes={"n": 3}), run({"y": one}, name="second")]
    text = print_self_test(NET, runs)
    lines = [line.strip(" *") for line in text.split(" */")[0].splitlines()[1:]]
    assert [line for line in lines if line] == [
        '-1 if run 1, of entry "first", n=3, fails',
        '1 if its output "y" is another one',
        '2 if its output "z" is another one',
        '-2 if run 2, of entry "second", fails',
        '3 if its output "y" is another one',
    ]


def test_floats_are_compared_by_their_type_and_others_exactly():
    types = ("float16", "float32", "float64", "int8", "bool")
    outputs = {name: np.ones((2, 3), name) for name in types}
    text = print_self_test(NET, [run(outputs)])
    rows = text.split("outputs_0[] = {\n")[1].split("\n};")[0].split("\n")
    assert rows == [
        "    {outputs_0_0, 12, usmp_equals_float16},",
        "    {outputs_0_1, 24, usmp_equals_float32},",
        "    {outputs_0_2, 48, usmp_equals_float64},",
        "    {outputs_0_3, 6, usmp_equals_exactly},",
        "    {outputs_0_4, 6, usmp_equals_exactly},",
    ]
    assert "inputs_0[] = {\n    {0, 0, usmp_equals_exactly},\n};" in text


def test_elements_are_those_of_the_tensor_in_order():
    inputs = {"x": np.array([[1, -2], [3, 4]], "int32"), "h": np.array([[1.0], [-2.0]], "float16")}
    text = print_self_test(NET, [run({}, inputs)])
    assert [word.strip(",") for word in array(text, "inputs_0_0")] == ["1", "-2", "3", "4"]
    # Halves are their bits: C has no literal of them.
    assert array(text, "inputs_0_1") == [f"{0x3C00},", f"{0xC000},"]
    assert array(print_self_test(NET, [run({"y": np.zeros(0, "int8")})]), "outputs_0_0") == ["0,"]


def test_lines_of_elements_are_as_long_as_a_line_may_be():
    # 24 elements of 4 characters fill 98 columns; the next would end in column 102.
    text = print_self_test(NET, [run({"y": np.full(49, 10, "int8")})])
    lines = text.split("outputs_0_0[] = {\n")[1].split("\n};")[0].split("\n")
    assert [line.count(",") for line in lines] == [24, 24, 1]
    assert all(line.startswith("  10,") and line == line.rstrip() for line in lines)
    # 14 elements of 7 characters are 98 of the 100 columns after the indentation.
    text = print_self_test(NET, [run({"y": np.full(15, 10000, "int32")})])
    lines = text.split("outputs_0_0[] = {\n")[1].split("\n};")[0].split("\n")
    assert [line.count(",") for line in lines] == [14, 1]
    # 11 elements of 9 characters would be 99.
    text = print_self_test(NET, [run({"y": np.full(11, 1000000, "int32")})])
    lines = text.split("outputs_0_0[] = {\n")[1].split("\n};")[0].split("\n")
    assert [line.count(",") for line in lines] == [10, 1]
