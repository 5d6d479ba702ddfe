"""Inputs that runs update, on the command line: they are given back like outputs."""

from __future__ import annotations

import json

import numpy as np
import pytest

import usmp
from support.board_programs import require_board
from support.device_programs import SERVE, build_program, line_to, self_test
from support.updated_models import SHAPE, updated, updating_model
from usmp.boards.board import board_named
from usmp.driver.tvmc import main
from usmp.runtime.reference import REFERENCE

STEPS, BOARD = 3, "mps2-an385"
X = np.arange(STEPS * 12, dtype="float32").reshape(STEPS, *SHAPE)
CACHE = np.ones(SHAPE, "float32")


def expected() -> dict[str, np.ndarray]:
    """What `STEPS` runs give."""
    cache, outputs, caches = CACHE, [], []
    for x in X:
        y, cache = updated(x, cache)
        outputs.append(y)
        caches.append(cache)
    return {"y": np.stack(outputs), "cache": np.stack(caches)}


@pytest.fixture(scope="module")
def archive(tmp_path_factory):
    path = tmp_path_factory.mktemp("updated") / "model.tar"
    usmp.build(updating_model(), reference=True).export_model_library_format(path)
    return path


def check(path: str, wanted: dict[str, np.ndarray]) -> None:
    with np.load(path) as found:
        # The updated input is no output, which TVM 0.18 had a name for.
        assert list(found) == [*wanted, "output_0"]
        for name, value in (*wanted.items(), ("output_0", wanted["y"])):
            np.testing.assert_array_equal(found[name], value)


@pytest.mark.cc
def test_a_run_gives_them_back(tvmc, archive):
    np.savez("in.npz", x=X[0], cache=CACHE)
    command = ["run", archive, "--inputs", "in.npz", "--outputs"]
    assert tvmc(*command, "out.npz").status == 0
    check("out.npz", {name: value[0] for name, value in expected().items()})
    assert tvmc(*command, "cache=cache.npy").status == 0
    np.testing.assert_array_equal(np.load("cache.npy"), expected()["cache"][0])


@pytest.mark.cc
def test_each_step_finds_what_the_one_before_left(tvmc, archive):
    np.savez("in.npz", x=X, cache=CACHE)
    command = ["run", archive, "--steps", STEPS, "--inputs", "in.npz", "--outputs", "out.npz"]
    assert tvmc(*command).status == 0
    check("out.npz", expected())


@pytest.mark.cc
def test_a_step_takes_its_own_if_it_is_given(tvmc, archive):
    np.savez("in.npz", x=X, cache=np.stack([CACHE] * STEPS))
    command = ["run", archive, "--steps", STEPS, "--inputs", "in.npz", "--outputs", "out.npz"]
    assert tvmc(*command).status == 0
    with np.load("out.npz") as found:
        np.testing.assert_array_equal(found["cache"][2], updated(X[2], CACHE)[1])


@pytest.mark.unit
def test_information(tvmc, archive):
    found = json.loads(tvmc("info", archive, "--format", "json").stdout)
    assert [t.get("updated") for t in found["modules"][0]["inputs"]] == [None, True]
    assert "input, updated  cache" in tvmc("info", archive).stdout.replace("│", "")


@pytest.mark.cc
def test_a_self_test_compares_them(archive, tmp_path):
    """Twice in a row, as each run is given its inputs anew."""
    folder = tmp_path / "test"
    assert main(["export-test", str(archive), "-o", str(folder), "-q", "--runs=2"]) == 0
    comment = (folder / "tvmgen_default_self_test.c").read_text()
    assert '*   2 if its output "cache" is another one' in comment
    assert self_test(archive, folder, tmp_path) == 0
    golden = folder / "tvmgen_default_self_test.c"
    text = golden.read_text()
    begin = text.index("outputs_1_1[] = {") + len("outputs_1_1[] = {")
    golden.write_text(f"{text[:begin]} 77.0f + {text[begin:]}")
    assert self_test(archive, folder, tmp_path) == 4


@pytest.mark.slow
@pytest.mark.cc
def test_a_device_at_a_line_gives_them_back(tvmc, archive, tmp_path):
    folder = tmp_path / "test"
    assert main(["export-test", str(archive), "-o", str(folder), "-q"]) == 0
    program = build_program(archive, folder, SERVE, tmp_path, cycles="0")
    np.savez("in.npz", x=X[0], cache=CACHE)
    with line_to(program) as port:
        command = ["run", archive, "--serial", port, "--inputs", "in.npz", "--outputs", "out.npz"]
        outcome = tvmc(*command)
    assert (outcome.status, outcome.stderr) == (0, "")
    assert f"The outputs equal {REFERENCE}." in outcome.stdout
    check("out.npz", {name: value[0] for name, value in expected().items()})


@pytest.mark.slow
@pytest.mark.board
@pytest.mark.parametrize("entries", [("main",), ("first", "second")])
def test_a_board_gives_them_back(tvmc, entries):
    require_board(board_named(BOARD))
    usmp.build(updating_model(entries), board=BOARD, reference=True).export_model_library_format(
        "board.tar"
    )
    np.savez("in.npz", x=X, cache=np.stack([CACHE] * STEPS))
    command = ["run", "board.tar", "--board", BOARD, "--entry", entries[-1], "--steps", STEPS]
    outcome = tvmc(*command, "--inputs", "in.npz", "--outputs", "out.npz")
    assert outcome.status == 0, outcome.stderr
    assert f"The outputs equal {REFERENCE}." in outcome.stdout
    with np.load("out.npz") as found:
        np.testing.assert_array_equal(found["cache"][2], updated(X[2], CACHE)[1])
    np.savez("in.npz", x=X, cache=CACHE)
    outcome = tvmc(*command, "--inputs", "in.npz")
    assert outcome.status == 1
    assert 'input "cache" is updated by each step, and a board is given' in outcome.stderr
