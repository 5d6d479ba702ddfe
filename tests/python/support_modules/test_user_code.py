"""Errors and warnings name the line of the user's code that they come from."""

from __future__ import annotations

import contextlib
import json
import warnings
from dataclasses import dataclass
from pathlib import Path

import pytest

import usmp
from usmp.support.user_code import place_in_user_code, stacklevel_of_user, wants_backtrace


@pytest.mark.parametrize(
    ("value", "wanted"), [(None, False), ("", False), ("0", False), ("1", True), ("2", True)]
)
def test_the_environment_asks_for_backtraces(monkeypatch, value, wanted):
    monkeypatch.delenv("TVM_BACKTRACE", raising=False)
    if value is not None:
        monkeypatch.setenv("TVM_BACKTRACE", value)
    assert wants_backtrace() is wanted


def run_file(path, text):
    """Run a Python file of a user; return its error."""
    path.write_text(text)
    with pytest.raises(Exception) as caught:
        exec(compile(text, str(path), "exec"), {})
    return caught.value


def test_the_innermost_line_of_the_user_is_named(tmp_path):
    path = tmp_path / "mine.py"
    error = run_file(path, "def outer():\n    inner()\n\ndef inner():\n    {}[1]\n\nouter()\n")
    error.__traceback__ = error.__traceback__.tb_next  # Leave this file out.
    assert place_in_user_code(error) == f"KeyError at {path}, line 5, in inner"


def test_a_line_outside_of_functions_has_no_function(tmp_path):
    path = tmp_path / "mine.py"
    error = run_file(path, "\nint('x')\n")
    assert place_in_user_code(error) == f"ValueError at {path}, line 2"


def test_lines_of_packages_are_passed_over(tmp_path):
    """The error is raised in Python's own json, which the user calls."""
    path = tmp_path / "mine.py"
    error = run_file(path, "import json\njson.loads('[')\n")
    assert place_in_user_code(error) == f"JSONDecodeError at {path}, line 2"


def test_an_error_is_traced_to_its_cause(tmp_path):
    path = tmp_path / "mine.py"
    cause = run_file(path, "int('x')\n")
    error = RuntimeError("the algorithm failed")
    error.__cause__ = cause
    assert place_in_user_code(error) == f"ValueError at {path}, line 1"


def test_errors_without_code_of_the_user_have_no_place():
    assert place_in_user_code(RuntimeError()) is None
    with pytest.raises(ValueError) as caught:
        exec(compile("int('x')", "<string>", "exec"), {})
    error = caught.value
    error.__traceback__ = error.__traceback__.tb_next
    assert place_in_user_code(error) is None
    with pytest.raises(json.JSONDecodeError) as decoded:
        json.loads("[")
    decoded.value.__traceback__ = decoded.value.__traceback__.tb_next
    assert place_in_user_code(decoded.value) is None


def test_warnings_are_for_the_line_of_the_user(monkeypatch):
    """Functions of this package, generated methods and context managers are between."""
    called = {"warn": warnings.warn, "level": stacklevel_of_user, "dataclass": dataclass}
    called["contextmanager"] = contextlib.contextmanager
    text = """
def tell():
    warn("x", stacklevel=level())

@dataclass
class Record:
    value: int = 0

    def __post_init__(self):
        tell()

@contextmanager
def telling():
    tell()
    yield
"""
    exec(compile(text, usmp.__file__, "exec"), called)
    with pytest.warns(UserWarning) as seen:
        called["tell"]()
        called["Record"]()
        with called["telling"]():
            pass
    assert {one.filename for one in seen} == {__file__}
    source = Path(__file__).read_text().splitlines()
    lines = [source[one.lineno - 1].strip() for one in seen]
    assert lines == ['called["tell"]()', 'called["Record"]()', 'with called["telling"]():']


def test_a_program_of_this_package_alone_is_blamed_itself():
    frame = {"level": stacklevel_of_user}
    exec(compile("found = level()", usmp.__file__, "exec"), frame)
    assert frame["found"] == 2
