"""`tvmc run` and `tvmc info` of models with symbolic sizes."""

from __future__ import annotations

import json

import numpy as np
import pytest

from support.symbolic_models import attending, build_symbolic, build_two_sizes
from usmp.driver.errors import UsageError
from usmp.driver.python import functions
from usmp.driver.run.sizes import given_sizes


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    path = tmp_path_factory.mktemp("net") / "net.tar"
    build_symbolic(module_name="net").export_model_library_format(path)
    return path


@pytest.fixture(scope="module")
def entries(tmp_path_factory):
    path = tmp_path_factory.mktemp("two") / "two.tar"
    build_two_sizes().export_model_library_format(path)
    return path


def values(seq: int) -> np.ndarray:
    return np.random.default_rng(seq).random((1, seq, 4), np.float32)


@pytest.mark.cc
@pytest.mark.parametrize("file", ["x.npy", "x.npz", "x.bin"])
def test_the_sizes_are_those_of_the_inputs(tvmc, archive, file):
    x = values(7)
    {"x.npy": np.save, "x.npz": lambda path, x: np.savez(path, x=x)}.get(
        file, lambda path, x: x.tofile(path)
    )(file, x)
    assert tvmc("run", archive, "-i", file, "-o", "y.npy").status == 0
    np.testing.assert_allclose(np.load("y.npy"), attending(x), rtol=1e-5)


@pytest.mark.cc
def test_the_largest_sizes_are_the_default(tvmc, archive):
    assert "y: float32[1, 8, 4]" in tvmc("run", archive).stdout
    assert "y: float32[1, 2, 4]" in tvmc("run", archive, "--size", "seq=3").stdout


@pytest.mark.cc
def test_a_size_of_some_inputs_is_that_of_others(tvmc, entries):
    np.save("a.npy", np.ones(2, np.int32))
    given = ("run", entries, "--entry=outer", "-i", "a=a.npy")
    assert "y: int32[2, 7]" in tvmc(*given).stdout
    assert "y: int32[2, 3]" in tvmc(*given, "--size", "columns=3").stdout
    assert "y: int32[2, 3]" in tvmc(*given, "--size", "columns=3", "--size", "rows=2").stdout


@pytest.mark.cc
@pytest.mark.parametrize(
    ("options", "fault"),
    [
        (("--size", "seq=17"), 'size "seq" is 17; the model takes 1 to 16'),
        (("--size", "n=1"), 'the model has no size "n". Its sizes: seq'),
        (
            ("--size", "seq=4", "-i", "x.npy"),
            'input "x" is float32[1, 7, 4]; the model takes float32[1, 4, 4] at seq=4',
        ),
    ],
)
def test_sizes_that_the_model_does_not_take(refused, archive, options, fault):
    np.save("x.npy", values(7))
    assert fault in refused("run", archive, *options)


@pytest.mark.parametrize("option", ["17", "seq", "seq=", "seq=-1", "seq=1e3", "=4", "seq=²"])
def test_sizes_that_are_none(option):
    with pytest.raises(UsageError, match="write it as in --size seq=17"):
        given_sizes([option])


def test_a_size_is_given_once():
    assert given_sizes(["a=b=3", "n=4"]) == {"a=b": 3, "n": 4}
    with pytest.raises(UsageError, match="--size n=4: n is given twice"):
        given_sizes(["n=3", "n=4"])


@pytest.mark.parametrize("size_bytes", [15, 20])
def test_bytes_from_which_no_size_follows(refused, archive, size_bytes):
    with open("x.bin", "wb") as file:
        file.write(bytes(size_bytes))
    assert refused("run", archive, "-i", "x.bin") == (
        f"x.bin has {size_bytes} bytes, from which the sizes of input x "
        "([1, seq, 4] float32) do not follow; write an .npy file"
    )


@pytest.mark.cc
def test_python(archive):
    package = functions.TVMCPackage(str(archive))
    assert functions.run(package).outputs["y"].shape == (1, 8, 4)
    assert functions.run(package, sizes={"seq": 3}).outputs["y"].shape == (1, 2, 4)
    result = functions.run(package, inputs={"x": values(5)}, benchmark=True, repeat=2, number=2)
    np.testing.assert_allclose(result.outputs["y"], attending(values(5)), rtol=1e-5)


def test_info(tvmc, archive):
    text = tvmc("info", archive).stdout
    assert "[1, seq, 4]" in text
    assert "[1, (seq - 1) // 2 + 1, 4]" in text
    assert "Sizes: seq (1 to 16)\n" in text
    (module,) = json.loads(tvmc("info", archive, "--format=json").stdout)["modules"]
    assert module["sizes"] == [
        {"name": "seq", "lower_bound": 1, "upper_bound": 16, "taken_as": None}
    ]
    assert module["inputs"][0]["shape"] == [1, 16, 4]
    assert module["inputs"][0]["symbolic_shape"] == [1, "seq", 4]
