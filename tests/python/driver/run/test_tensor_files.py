"""Inputs and outputs of `tvmc run` in files of one tensor, and of all."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from usmp.driver import output
from usmp.driver.errors import UsageError
from usmp.driver.run.tensor_files import TensorFile, output_files, read_inputs, write_outputs

ONE = {"image": {"shape": [1, 28, 28, 1], "dtype": "int8"}}
TWO = {"a": {"shape": [2, 3], "dtype": "float32"}, "a=b": {"shape": [], "dtype": "int16"}}
A, AB = np.arange(6, dtype=np.float32).reshape(2, 3), np.array(-7, np.int16)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", A)
    A.tofile("a.bin")
    AB.tofile("x=y.bin")
    np.savez("both.npz", **{"a": A, "a=b": AB})
    return tmp_path


@pytest.mark.parametrize(
    "given",
    [
        ["a=a.npy", "a=b=x=y.bin"],
        ["a=a.bin", "a=b=x=y.bin"],
        ["both.npz"],
    ],
    ids=" ".join,
)
def test_inputs(given):
    arrays = read_inputs(given, TWO)
    assert arrays.keys() == TWO.keys()
    for name, expected in (("a", A), ("a=b", AB)):
        assert (arrays[name].dtype, arrays[name].shape) == (expected.dtype, expected.shape)
        assert np.array_equal(arrays[name], expected)


def test_the_only_input_needs_no_name():
    image = np.arange(784).astype(np.int8).reshape(1, 28, 28, 1)
    image.tofile("x=y.bin")
    assert np.array_equal(read_inputs(["x=y.bin"], ONE)["image"], image)
    assert np.array_equal(read_inputs(["image=x=y.bin"], ONE)["image"], image)


@pytest.mark.parametrize(
    ("infos", "given", "message"),
    [
        (ONE, ["x.bin"], "x.bin has 100 bytes, input image (1x28x28x1 int8) needs 784"),
        (TWO, ["a=b=x.bin"], "x.bin has 100 bytes, input a=b (scalar int16) needs 2"),
        (
            TWO,
            ["x.bin"],
            "--inputs x.bin: the model has 2 inputs (a, a=b); say which, as in --inputs a=x.bin",
        ),
        (
            ONE,
            ["other=x.bin"],
            '--inputs other=x.bin: the model has no input "other". Its inputs: image',
        ),
        (TWO, ["a=a.bin", "a=a.npy"], '--inputs a=a.npy: input "a" is given twice'),
        (TWO, ["both.npz", "a=a.npy"], '--inputs a=a.npy: input "a" is given twice'),
        (
            TWO,
            ["a=both.npz"],
            "--inputs a=both.npz: only .npy and .bin files are for one input; an .npz file names "
            "its arrays itself",
        ),
        (ONE, ["missing.npy"], "missing.npy: No such file or directory"),
        (ONE, ["x.npy"], "x.npy: not an .npy file of an array (the magic string is not correct"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_inputs(infos, given, message):
    for name in ("x.bin", "x.npy"):
        Path(name).write_bytes(bytes(100))
    with pytest.raises(UsageError) as caught:
        read_inputs(given, infos)
    assert str(caught.value).startswith(message)


def test_outputs():
    files = output_files(["all.npz", "a=one.npy", "a=b=one.bin"], TWO)
    write_outputs(files, {"a": A, "a=b": AB})
    with np.load("all.npz") as arrays:
        assert arrays.files == ["a", "a=b", "output_0", "output_1"]
        assert np.array_equal(arrays["a"], A)
        assert np.array_equal(arrays["a=b"], AB)
    one = np.load("one.npy")
    assert one.dtype == A.dtype
    assert np.array_equal(one, A)
    assert Path("one.bin").read_bytes() == AB.tobytes()


def test_the_work_is_done_when_the_last_file_is_written(monkeypatch):
    settled = []
    monkeypatch.setattr(output, "settle", settled.append)
    missing = TensorFile("a=b", "missing/one.bin")
    with pytest.raises(UsageError, match=r"missing/one\.bin: cannot be written"):
        write_outputs([TensorFile("a", "one.npy"), missing], {"a": A, "a=b": AB})
    assert settled == []
    write_outputs([TensorFile("a", "one.npy"), TensorFile(None, "all.npz")], {"a": A, "a=b": AB})
    assert settled == [0]


def test_outputs_that_need_no_name():
    assert output_files(["y.npy"], ONE) == [TensorFile("image", "y.npy")]
    assert output_files(["/dev/null"], TWO) == [TensorFile(None, "/dev/null")]


@pytest.mark.parametrize(
    ("infos", "given", "message"),
    [
        (
            ONE,
            ["out.txt"],
            "out.txt: write outputs to a file that ends in .npz (all, with their names), .npy (one "
            "array) or .bin (its bytes)",
        ),
        (
            TWO,
            ["out.bin"],
            "--outputs out.bin: the model has 2 outputs (a, a=b); say which, as in "
            "--outputs a=out.bin",
        ),
        (
            TWO,
            ["c=out.bin"],
            '--outputs c=out.bin: the model has no output "c". Its outputs: a, a=b',
        ),
        (
            TWO,
            ["a=y.bin", "a=b=y.bin"],
            "--outputs y.bin and --outputs y.bin: give one",
        ),
        (ONE, ["y.bin", "z.bin"], "--outputs y.bin and --outputs z.bin: give one"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_outputs(infos, given, message):
    with pytest.raises(UsageError) as caught:
        output_files(given, infos)
    assert str(caught.value) == message


@pytest.mark.slow
@pytest.mark.cc
def test_run(tvmc, digits_archive, digits_images):
    """The same, whatever the files are."""
    images, _ = digits_images
    np.savez("in.npz", image=images[:1])
    np.save("in.npy", images[:1])
    images[:1].tofile("in.bin")
    for ending in ("npz", "npy", "bin"):
        given = ("--inputs", f"in.{ending}", "--outputs", f"out.{ending}")
        outcome = tvmc("run", digits_archive, *given)
        assert (outcome.status, outcome.stdout, outcome.stderr) == (0, "", "")
    expected = np.load("out.npz")["probabilities"]
    assert np.array_equal(np.load("out.npy"), expected)
    assert Path("out.bin").read_bytes() == expected.tobytes()
