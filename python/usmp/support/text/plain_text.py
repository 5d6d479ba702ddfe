"""Sanitizing of text from models, archives and command lines before it is shown.

A name in a model may contain terminal control characters or change the writing direction, or may be
very long. It is shown as one line of printable characters.
"""

from __future__ import annotations

from collections.abc import Callable

LONGEST_NAME = 200
"""Most characters of a name that are shown."""


def shown(name: object, longest: int = LONGEST_NAME) -> str:
    """Return a name for a terminal, without the middle of a long name.

    Characters that are not printable by Unicode become escapes such as `\\x1b` or `\\u202e`."""
    return shortened(printable(str(name)), longest)


def printable(text: str) -> str:
    """Return the text with escapes such as "\\x1b" for characters that are not printable."""
    return escaped(text, str.isprintable)


def escaped(text: str, is_kept: Callable[[str], bool]) -> str:
    """Return the text with a Python escape for each character that is not kept."""
    if all(map(is_kept, text)):
        return text
    return "".join(c if is_kept(c) else _escape(c) for c in text)


def _escape(character: str) -> str:
    """Return the escape of a character: a backslash with letters or digits only."""
    if character.isascii() and character.isprintable():
        return f"\\x{ord(character):02x}"
    return character.encode("unicode_escape").decode()


def shortened(text: str, longest: int) -> str:
    """Return the text without its middle if it has more characters than `longest`."""
    if len(text) <= longest:
        return text
    end = longest // 3
    return f"{text[: longest - end - 3]}...{text[-end:]}"
