"""Errors in Python of the user come with file and line."""

from __future__ import annotations

import sys

import pytest
from tvm.relax.backend import _ffi_api

SHOWS = "TVM_BACKTRACE=1 shows the traceback"
ALGORITHM = """
import tvm_ffi
import mine_helper


def mine(buffers, memory_pressure):
    return mine_helper.place(buffers)


tvm_ffi.register_global_func("tir.usmp.algo.failing", mine, override=True)
"""
HELPER = """
def place(buffers):
    raise ValueError("none of these")
"""
PATTERN = """
from tvm.relax.backend.pattern_registry import register_patterns
from usmp.relax.accelerators import quantized_operator


def check(context):
    return {}["missing"]


register_patterns([quantized_operator("failing.conv2d", "conv2d", check)])
"""


@pytest.fixture
def algorithm(tmp_path, monkeypatch):
    """Options that choose an algorithm of which a function in another file fails."""
    (tmp_path / "mine.py").write_text(ALGORITHM)
    (tmp_path / "mine_helper.py").write_text(HELPER)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "mine_helper", raising=False)
    option = "--pass-config=tir.usmp.custom_algorithm=failing"
    return (f"--extension={tmp_path / 'mine.py'}", option)


def test_algorithm(refused, small_model, tmp_path, algorithm):
    place = f"ValueError at {tmp_path / 'mine_helper.py'}, line 3, in place"
    assert refused("plan", small_model, *algorithm) == f"none of these ({place}; {SHOWS})"


def test_whole_traceback(tvmc, small_model, tmp_path, monkeypatch, algorithm):
    monkeypatch.setenv("TVM_BACKTRACE", "1")
    outcome = tvmc("plan", small_model, *algorithm)
    assert (outcome.status, outcome.stdout) == (1, "")
    assert outcome.stderr.startswith("Traceback (most recent call last):\n")
    assert f'File "{tmp_path / "mine.py"}", line 7, in mine' in outcome.stderr
    assert f'File "{tmp_path / "mine_helper.py"}", line 3, in place' in outcome.stderr
    place = f"ValueError at {tmp_path / 'mine_helper.py'}, line 3, in place"
    assert outcome.stderr.splitlines()[-1] == f"tvmc: error: none of these ({place})"


@pytest.mark.slow
def test_pattern_of_an_accelerator(refused, digits_model, tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(PATTERN)
    message = refused("plan", digits_model, f"--extension={path}", "--target=failing,c")
    _ffi_api.RemovePatterns(["failing.conv2d"])
    assert message.endswith(f"(KeyError at {path}, line 7, in check; {SHOWS})")


def test_extension(refused, tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("def f():\n    return {}['x']\nf()\n")
    assert refused("list", "--extension", path) == (
        f"--extension {path} failed: 'x' (KeyError at {path}, line 2, in f; {SHOWS})"
    )


def test_error_that_is_not_in_the_extension(refused, tmp_path):
    path = tmp_path / "mine.py"
    path.write_text("")
    message = refused("compile", "missing.tflite", "--extension", path)
    assert message == "missing.tflite: No such file or directory"
