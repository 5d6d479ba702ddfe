"""What the user reads when a command fails: one line in a file, lines on a terminal."""

from __future__ import annotations

import io

import pytest

from usmp.driver.terminal.error_message import tell


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def told(error: Exception, stream: io.StringIO) -> str:
    tell(error, False, stream)
    return stream.getvalue()


def test_memory_error():
    """An allocation of Python's own that fails has no text."""
    message = told(MemoryError(), io.StringIO())
    assert message.startswith("tvmc: error: usmp has not enough memory, and ")
    assert message.endswith("raise the limit, or use a machine with more memory\n")


@pytest.mark.parametrize(
    ("text", "line", "on_a_terminal"),
    [
        ("too small", "too small", "too small"),
        (
            "cc failed:\n  a.c:1: no\n  a.c:2: no\nCall it again.\n\nStack trace:\n  0",
            "cc failed: a.c:1: no a.c:2: no Call it again.",
            "cc failed:\n  a.c:1: no\n  a.c:2: no\n  Call it again.",
        ),
        ("", "ValueError", "ValueError"),
        ("a\x1b[2J\nb", "a\\x1b[2J b", "a\\x1b[2J\n  b"),
    ],
    ids=["short", "lines", "empty", "control"],
)
def test_error(text, line, on_a_terminal):
    assert told(ValueError(text), io.StringIO()) == f"tvmc: error: {line}\n"
    assert told(ValueError(text), Terminal()) == f"tvmc: error: {on_a_terminal}\n"


def test_many_lines_leave_the_first_and_the_last_on_the_screen():
    text = "\n".join(f"line {number}" for number in range(1000))
    lines = told(ValueError(text), Terminal()).splitlines()
    assert [line.strip() for line in lines[1:]] == [
        *(f"line {number}" for number in range(1, 10)),
        "...",
        "line 999",
    ]


def test_file_that_the_system_refuses(tmp_path, monkeypatch):
    error = OSError(28, "No space left on device", str(tmp_path / "file"))
    monkeypatch.setattr("tempfile.tempdir", "/elsewhere")
    expected = f"tvmc: error: {tmp_path / 'file'}: No space left on device\n"
    assert told(error, io.StringIO()) == expected
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert told(error, io.StringIO()) == (
        f"{expected.rstrip()}; TMPDIR names another folder for temporary files\n"
    )
