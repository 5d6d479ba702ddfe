"""`tvmc run` with the flags of TVM 0.18, and files of outputs with its names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tvm import relax

import usmp
from support.commands import message_of
from support.tflite_builder import write_model
from support.tflite_signatures import summing
from usmp.driver.errors import UsageError
from usmp.driver.run.output_names import load_outputs, output_aliases
from usmp.driver.run.tensors import print_top
from usmp.driver.tvmc import main
from usmp.runtime import HostEntry
from usmp.tvm018 import ACCEPTED, REFUSED, RUN_FLAGS

X = np.array([[3, -1, 7, 7]], np.float32)


def written(row) -> list[str]:
    """The flag as a user writes it, with a value that the row is for."""
    value = row.values[0] if row.values else "x"
    return [row.name] if row.arity == "no value" else [f"{row.name}={value}"]


def built(names: list[str]) -> usmp.AOTExecutorFactoryModule:
    """A model whose outputs are x + x and then -x."""
    x = relax.Var("x", relax.TensorType((1, 4), "float32"))
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        with builder.dataflow():
            results = [relax.op.add(x, x), relax.op.negative(x)][: len(names)]
            results = [builder.emit_output(result) for result in results]
        builder.emit_func_output(relax.Tuple(results))
    mod = builder.get()
    main_function = mod["main"].with_attr("output_names", names)
    mod.update_func(mod.get_global_var("main"), main_function)
    return usmp.build(mod)


@pytest.fixture(scope="module")
def archive(tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("run") / "model.tar"
    built(["sum", "negative"]).export_model_library_format(path)
    return str(path)


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    np.savez("in.npz", x=X)
    return tmp_path


@pytest.mark.cc
def test_accepted_flags_change_nothing_and_are_noted(archive, folder, capfd):
    rows = [row for row in RUN_FLAGS if row.verdict == ACCEPTED]
    flags = [flag for row in rows for flag in written(row)]
    assert main(["run", archive, "-i", "in.npz", "-o", "without.npz"]) == 0
    assert capfd.readouterr().err == ""
    assert main(["run", *flags, archive, "-i", "in.npz", "--output", "with.npz"]) == 0
    assert capfd.readouterr().err.splitlines() == [
        f"tvmc: note: {row.sentence(row.values[0] if row.values else '')}" for row in rows
    ]
    assert Path("with.npz").read_bytes() == Path("without.npz").read_bytes()
    with np.load("with.npz") as arrays:
        assert arrays.files == ["sum", "negative", "output_0", "output_1"]
        for first, alias, expected in (("sum", "output_0", X + X), ("negative", "output_1", -X)):
            assert np.array_equal(arrays[first], expected)
            assert np.array_equal(arrays[alias], expected)


@pytest.mark.parametrize(
    "row", [row for row in RUN_FLAGS if row.verdict == REFUSED], ids=lambda row: str(row.values)
)
def test_a_refused_flag_says_why(row, capfd):
    assert main(["run", "missing.tar", *written(row)]) == 1
    value = "" if row.arity == "no value" else (row.values or ["x"])[0]
    is_on_device = row.values == ("micro",)
    instead = "; instead: tvmc run missing.tar --serial=PORT" if is_on_device else ""
    assert message_of(capfd.readouterr().err) == f"{row.sentence(value)}{instead}"


@pytest.mark.cc
def test_the_command_line_of_the_guide_prints_times_and_the_largest_values(archive, folder, capfd):
    command = ["run", "--print-time", "--repeat", "3", "--number", "2", archive, "-i", "in.npz"]
    assert main([*command, "--print-top", "2"]) == 0
    title, heads, times, *values = capfd.readouterr().out.splitlines()
    assert title == "Execution time summary:"
    assert heads.split() == "mean (ms) median (ms) max (ms) min (ms) std (ms)".split()
    mean, median, maximum, minimum, _ = map(float, times.split())
    assert 0 < minimum <= min(mean, median) <= max(mean, median) <= maximum
    assert values == [
        *("sum:", "[[ 3.  2.]", " [14. 14.]]"),
        *("negative:", "[[ 1.  0.]", " [ 1. -3.]]"),
    ]


@pytest.mark.parametrize(
    ("array", "printed"),
    [
        (np.array([[3, -1, 7]], np.int8), "[[2 0]\n [7 3]]\n"),
        (np.array([2**64 - 1, 0], np.uint64), f"[[{0:20} {1:20}]\n [{2**64 - 1} {0:20}]]\n"),
        (np.array(5, np.int16), "[[0]\n [5]]\n"),
        (np.array([[False], [True]]), "[[1 0]\n [1 0]]\n"),
    ],
    ids=["int8", "uint64", "scalar", "bool"],
)
def test_the_only_output_has_no_title(array, printed, capsys):
    print_top({"y": array}, 2)
    assert capsys.readouterr().out == printed


@pytest.mark.cc
def test_outputs_are_those_of_the_first_runs_of_a_model_that_keeps_state(folder, capfd):
    Path("model.tflite").write_bytes(write_model(summing()))
    usmp.build("model.tflite").export_model_library_format("model.tar")
    command = ["run", "model.tar", "--steps", "2", "--print-time", "-o"]
    assert main([*command, "once.npz"]) == main([*command, "often.npz", "--repeat", "2"]) == 0
    assert Path("once.npz").read_bytes() == Path("often.npz").read_bytes()
    with np.load("often.npz") as arrays:
        first, second = arrays["output_0"]
    assert not np.array_equal(first, second)


@pytest.mark.parametrize(
    ("flag", "count"), [("--repeat", "0"), ("--number", "1000001"), ("--print-top", "0")]
)
def test_counts(flag, count, capfd):
    assert main(["run", "missing.tar", flag, count]) == 1
    assert capfd.readouterr().err == (
        f"tvmc: error: argument {flag}: must be a number from 1 to 1000000, not {count}\n"
        "  See tvmc run --help\n"
    )


@pytest.mark.parametrize(
    ("where", "instead"),
    [
        ("--board=mps2-an385", "--board, its report has the instructions of a run"),
        ("--serial=/dev/ttyS0", "--serial, run it again"),
    ],
)
def test_other_machines_are_not_measured(where, instead, capfd):
    assert main(["run", "missing.tar", where, "--repeat", "2"]) == 1
    assert capfd.readouterr().err == (
        f"tvmc: error: --repeat and --number measure this host; with {instead}\n"
    )


def test_a_profile_needs_a_model_that_was_compiled_for_it(archive, capfd):
    assert main(["run", archive, "--profile"]) == 1
    assert "compile the model with --profile" in capfd.readouterr().err


def test_a_name_of_the_model_wins():
    assert output_aliases(["y", "output_0"]) == {"output_1": "output_0"}
    assert output_aliases(["output_0", "output_1"]) == {}
    assert output_aliases(["y", "cache"], 1) == {"output_0": "y"}
    assert output_aliases(["y", "output_0"], 1) == {}


@pytest.mark.cc
def test_an_output_that_is_called_as_an_alias_is_written_once(folder):
    built(["output_0"]).export_model_library_format("model.tar")
    assert main(["run", "model.tar", "-i", "in.npz", "-o", "out.npz"]) == 0
    with np.load("out.npz") as arrays:
        assert arrays.files == ["output_0"]


ENTRY = HostEntry({}, {"y": {}, "output_0": {}, "a\nb": {}})


@pytest.mark.parametrize(
    ("names", "read"),
    [
        (["y", "output_0", "a\nb"], ["y", "output_0", "a\nb"]),
        (["y", "output_1", "output_2"], ["y", "output_0", "a\nb"]),
        (["output_0", "a_b", "other"], ["output_0", "a\nb", "other"]),
    ],
)
def test_arrays_of_a_file_have_the_names_of_the_model(folder, names, read):
    np.savez("out.npz", **{name: np.array([i]) for i, name in enumerate(names)})
    arrays = load_outputs("out.npz", ENTRY)
    assert {name: int(array[0]) for name, array in arrays.items()} == {
        name: i for i, name in enumerate(read)
    }


def test_two_arrays_for_one_output(folder):
    entry = HostEntry({}, {"y": {}})
    np.savez("same.npz", y=X, output_0=X)
    assert list(load_outputs("same.npz", entry)) == ["y"]
    np.savez("other.npz", y=X, output_0=-X)
    with pytest.raises(UsageError) as error:
        load_outputs("other.npz", entry)
    assert str(error.value) == (
        'other.npz has two arrays for output "y" that differ, one of them as "output_0"; leave one '
        "out"
    )


def test_export_test_reads_the_names(archive, folder, capfd):
    np.savez("out.npz", output_1=-X, output_0=X + X)
    for expected, status in (("out.npz", 0), ("in.npz", 1)):
        command = ["export-test", archive, "-i", "in.npz", "--expected", expected, "-o", "t.tar"]
        assert main(command) == status
    assert 'expected output "sum" is missing' in capfd.readouterr().err
