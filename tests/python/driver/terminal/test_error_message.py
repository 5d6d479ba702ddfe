"""What the user reads when a command fails: a sentence a line."""

from __future__ import annotations

import io

import pytest

from usmp.driver.terminal.error_message import tell


def told(error: Exception) -> str:
    stream = io.StringIO()
    tell(error, False, stream)
    return stream.getvalue()


def test_memory_error():
    """An allocation of Python's own that fails has no text."""
    message = told(MemoryError())
    assert message.startswith("tvmc: error: usmp has not enough memory, and ")
    assert message.endswith("raise the limit, or use a machine with more memory\n")


LONG = "x" * 80


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("too small", "too small"),
        (
            "cc failed:\n  a.c:1: no\n  a.c:2: no\nCall it again.\n\nStack trace:\n  0",
            "cc failed:\n  a.c:1: no\n  a.c:2: no\n  Call it again",
        ),
        ("", "ValueError"),
        ("a\x1b[2J\nb", "a\\x1b[2J\n  b"),
        (
            'unknown board "a". Did you mean "b"? Boards: b, c',
            'unknown board "a"\n  Did you mean "b"?\n  Boards: b, c',
        ),
        ("no size; give one", "no size; give one"),
        (f"no size {LONG}; give one (b; c)", f"no size {LONG};\n  give one (b; c)"),
        (f'no "a. B; c" {LONG}', f'no "a. B; c" {LONG}'),
        ("version 0.18 of x.py", "version 0.18 of x.py"),
    ],
    ids=["short", "lines", "empty", "control", "sentences", "part", "parts", "name", "periods"],
)
def test_error(text, lines):
    assert told(ValueError(text)) == f"tvmc: error: {lines}\n"


def test_many_lines_leave_the_first_and_the_last_on_the_screen():
    text = "\n".join(f"line {number}" for number in range(1000))
    lines = told(ValueError(text)).splitlines()
    assert [line.strip() for line in lines[1:]] == [
        *(f"line {number}" for number in range(1, 10)),
        "...",
        "line 999",
    ]


def test_file_that_the_system_refuses(tmp_path, monkeypatch):
    error = OSError(28, "No space left on device", str(tmp_path / "file"))
    monkeypatch.setattr("tempfile.tempdir", "/elsewhere")
    expected = f"tvmc: error: {tmp_path / 'file'}: No space left on device\n"
    assert told(error) == expected
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert told(error) == (
        f"{expected.rstrip()};\n  TMPDIR names another folder for temporary files\n"
    )
