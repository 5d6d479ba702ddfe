"""Command lines as the demos and tests of TVM 0.18 have them: each runs, or one error says all."""

from __future__ import annotations

import re
import shlex
import tarfile
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.cc

X = np.array([[-1, 2, -3, 4]], np.float32)
MICRO = "compile small.tflite --target=c --runtime=crt --runtime-crt-system-lib 1"
MLF = "--output model.tar --output-format mlf --pass-config tir.disable_vectorize=1"
FOR_C = (
    "tvmc: warning: --runtime=crt: functions are called from C, as with "
    "--executor-aot-interface-api=c; TVM 0.18 made packed ones by default"
)
SYSTEM_LIB = (
    "tvmc: note: --runtime-crt-system-lib=1: C calls functions by their names, as "
    "tvmgen_<module>_run, and there is no table of them"
)
VECTORIZE = (
    "tvmc: note: tir.disable_vectorize=1: has no effect on this code, which TVM's own lowering "
    "does not make"
)


@pytest.fixture(autouse=True)
def model(tvmc, small_model):
    """y = max(x, 0) in the folder of the command."""
    Path("small.tflite").write_bytes(small_model.read_bytes())
    np.savez("in.npz", x=X)


def check_that_it_runs(tvmc, line: str = "run --inputs in.npz --outputs out.npz model.tar"):
    assert tvmc(*shlex.split(line)).status == 0
    np.testing.assert_array_equal(np.load("out.npz")["y"], np.maximum(X, 0))


@pytest.mark.parametrize(
    ("line", "notes"),
    [
        # tests/micro/common/test_tvmc.py, gallery/how_to/work_with_microtvm/micro_tvmc.sh
        (f"{MICRO} --executor='aot' {MLF}", [FOR_C, SYSTEM_LIB, VECTORIZE]),
        # tests/python/driver/tvmc/test_mlf.py
        (
            "compile small.tflite --target=c --executor=aot --pass-config tir.disable_vectorize=1 "
            "--output model.tar --output-format mlf",
            [VECTORIZE],
        ),
        # tests/python/driver/tvmc/test_command_line.py
        (
            "compile --target=llvm --workspace-pools=sram --workspace-pools-targets=sram:llvm "
            "--output=model.tar small.tflite",
            [],
        ),
        (
            "compile --target 'llvm' small.tflite -vvvv --output model.tar",
            ["tvmc: note: -v: there is no log to show more of"],
        ),
        # gallery/tutorial/tvmc_command_line_driver.py
        (
            'compile --target "llvm" --input-shapes "x:[1,4]" --output model.tar small.tflite',
            [],
        ),
    ],
)
def test_a_line_that_compiles(tvmc, line, notes):
    outcome = tvmc(*shlex.split(line))
    assert (outcome.status, outcome.stderr.splitlines()) == (0, notes)
    with tarfile.open("model.tar") as archive:
        assert "./metadata.json" in archive.getnames()
    check_that_it_runs(tvmc)


@pytest.mark.parametrize(
    ("line", "flags"),
    [
        # tests/micro/common/test_tvmc.py
        (
            f"{MICRO} --executor=graph --executor-graph-link-params 0 {MLF} "
            "--disabled-pass=AlterOpLayout",
            ["--executor=graph"],
        ),
        # tests/python/driver/tvmc/test_command_line.py
        (
            "compile --target llvm --tuning-records records.json --output m.tar small.tflite",
            ["--tuning-records=records.json"],
        ),
        (
            "compile --target 'llvm' model.pdmodel --model-format paddle --output model.tar",
            ["--model-format=paddle"],
        ),
        # tests/python/driver/tvmc/test_compiler.py, and the tutorial of the Android runtime
        (
            "compile --cross-compiler aarch64-linux-android28-clang --target=llvm small.tflite "
            "-o model.so -f so",
            ["--cross-compiler=aarch64-linux-android28-clang", "-f so"],
        ),
        # configs/test/compile_config_test.json
        ("compile --config compile_config_test small.tflite", ["--config=compile_config_test"]),
    ],
)
def test_a_line_that_one_error_refuses(refused, line, flags):
    error = refused(*shlex.split(line))
    assert re.findall(r"(?:^|; )(-[^:]+): ", error) == flags


@pytest.mark.parametrize("name", ["missing.tflite", "dangling.tflite"])
def test_a_file_that_is_not_there(refused, name):
    """tests/python/driver/tvmc/test_command_line.py"""
    Path("dangling.tflite").symlink_to("nothing")
    error = refused("compile", "--target", "c", name)
    assert error == f"{name}: No such file or directory"
