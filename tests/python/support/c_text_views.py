"""Parts of printed C: the statements of a function."""

from __future__ import annotations


def statements(text: str, name: str) -> list[str]:
    """The lines of a function's body, without indentation."""
    start = next(
        line
        for line in text.splitlines()
        if f" {name}(" in line and line.endswith(") {") and not line.startswith(" ")
    )
    body = text.split(f"{start}\n")[1].split("\n}")[0]
    return [line.strip() for line in body.splitlines()]
