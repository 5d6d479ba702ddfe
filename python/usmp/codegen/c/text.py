"""Text from a model in comments and string literals of C."""

from __future__ import annotations

from collections.abc import Sequence

from usmp.support.text.plain_text import LONGEST_NAME, escaped, shortened

_PRINTABLE = frozenset(map(chr, range(0x20, 0x7F)))
_IN_COMMENTS = _PRINTABLE - set("*?\\")
"""Characters that are safe in comments: an asterisk could end one, question marks are part of
trigraphs, and a backslash joins lines. (Escapes contain backslashes, but not at the end.)"""
_IN_STRINGS = frozenset(map(ord, _PRINTABLE - set('"?\\')))


_LONGEST_LINE = 2000
"""Most characters of a line; C99 guarantees 4095."""


def quoted(name: object) -> str:
    """Return a name in quotation marks, without the middle of a long name."""
    return f'"{shortened(str(name), LONGEST_NAME)}"'


def comment_text(text: str) -> str:
    """Return `text` as one line of ASCII that is safe in a comment."""
    return shortened(escaped(text, _IN_COMMENTS.__contains__), _LONGEST_LINE)


def comment(brief: str, *more: str, params: Sequence[tuple[str, str]] = ()) -> str:
    """Return a Doxygen comment whose lines may contain any text.

    Parameters
    ----------
    brief
        a description in one line.
    more
        further lines.
    params
        name and meaning of each parameter of a function.
    """
    lines = [f"\\brief {comment_text(brief)}", *map(comment_text, more)]
    lines += [f"\\param {name} {comment_text(meaning)}" for name, meaning in params]
    return "/*!\n * " + "\n * ".join(lines) + "\n */"


def c_string(text: str) -> str:
    """Return `text` as a string literal in ASCII without trigraphs."""
    content = text.encode("utf-8", "surrogatepass")
    return '"' + "".join(chr(b) if b in _IN_STRINGS else f"\\{b:03o}" for b in content) + '"'
