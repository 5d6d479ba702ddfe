"""Text of models, archives and command lines, made plain for where it is shown.

A name in a model may hold anything: what controls a terminal, turns the direction of writing, or
fills the screen. What is shown of it is one line of characters that do nothing but stand there.
"""

from __future__ import annotations

from collections.abc import Callable

LONGEST_NAME = 200
"""Characters that are shown of a name."""


def shown(name: object, longest: int = LONGEST_NAME) -> str:
    """A name for a terminal: characters that Unicode calls printable, of any script; others as
    `\\x1b` or `\\u202e`. Of a long one the middle is left out.
    """
    return shortened(printable(str(name)), longest)


def printable(text: str) -> str:
    """The text, with escapes such as "\\x1b" in place of what would control a terminal."""
    return escaped(text, str.isprintable)


def escaped(text: str, is_kept: Callable[[str], bool]) -> str:
    """The text, with an escape as Python writes it in the place of each character not to keep."""
    if all(map(is_kept, text)):
        return text
    return "".join(c if is_kept(c) else _escape(c) for c in text)


def _escape(character: str) -> str:
    """A backslash and letters or digits: nothing that is not to be kept stands in an escape."""
    if character.isascii() and character.isprintable():
        return f"\\x{ord(character):02x}"
    return character.encode("unicode_escape").decode()


def shortened(text: str, longest: int) -> str:
    """The text, or its beginning and its end if it has more characters than `longest`."""
    if len(text) <= longest:
        return text
    end = longest // 3
    return f"{text[: longest - end - 3]}...{text[-end:]}"
