"""The command line in this process, in a folder of its own."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

import pytest

import usmp
from support.commands import message_of
from support.small_digits import small_convolutions, small_digits
from support.tflite_file import one_operator_model
from usmp.driver.tvmc import main
from usmp.exploration import processes

DIGITS = Path(__file__).resolve().parents[3] / "examples/digits/digits_int8.tflite"


@pytest.fixture
def small_model(tmp_path) -> Path:
    """A model of one operator."""
    path = tmp_path / "small.tflite"
    path.write_bytes(one_operator_model())
    return path


@pytest.fixture
def no_workers(monkeypatch) -> None:
    """Let this process, which has loaded TVM, build all configurations of a sweep."""

    def in_this_process(evaluate, data, tasks, jobs, is_interrupted):
        return ((task, evaluate(data, task)) for task in tasks)

    monkeypatch.setattr(processes, "in_processes", in_this_process)


@dataclass(frozen=True)
class Outcome:
    """What a command did."""

    status: int
    stdout: str
    stderr: str


@pytest.fixture
def tvmc(tmp_path, monkeypatch, capfd):
    """Run a command in an empty folder; it must leave nothing in the folder for temporary files."""
    work, temporary = tmp_path / "work", tmp_path / "temporary"
    work.mkdir()
    temporary.mkdir()
    monkeypatch.chdir(work)
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))

    def run(*arguments: object) -> Outcome:
        capfd.readouterr()
        status = main([str(argument) for argument in arguments])
        output = capfd.readouterr()
        assert list(temporary.iterdir()) == []
        return Outcome(status, output.out, output.err)

    return run


@pytest.fixture
def refused(tvmc):
    """Run a command that must fail: its message, in one line, is returned; no file changed."""

    def run(*arguments: object) -> str:
        before = _files()
        outcome = tvmc(*arguments)
        assert outcome.status == 1
        assert outcome.stdout == ""
        assert outcome.stderr.endswith("\n")
        assert _files() == before
        return message_of(outcome.stderr)

    return run


def _files() -> dict[str, bytes]:
    return {str(p): p.read_bytes() if p.is_file() else b"" for p in Path().rglob("*")}


@pytest.fixture(scope="session")
def small_digits_model(tmp_path_factory) -> Path:
    """A model with the tensors of the one of examples/digits."""
    path = tmp_path_factory.mktemp("digits") / "digits_int8.tflite"
    path.write_bytes(small_digits())
    return path


@pytest.fixture(scope="session")
def convolutions(tmp_path_factory) -> Path:
    """A model whose operators run interleaved, and whose tensors overlap."""
    path = tmp_path_factory.mktemp("convolutions") / "convolutions.tflite"
    path.write_bytes(small_convolutions())
    return path


@pytest.fixture(scope="session")
def digits_archive(small_digits_model) -> Path:
    """The model with the tensors of digits, compiled."""
    path = small_digits_model.with_name("digits.tar")
    usmp.build(usmp.import_model(small_digits_model)).export_model_library_format(path)
    return path
