"""Text of a model inside of C: in comments and in string literals."""

from __future__ import annotations

from collections.abc import Sequence

from usmp.support.plain_text import LONGEST_NAME, escaped, shortened

_PRINTABLE = frozenset(map(chr, range(0x20, 0x7F)))
_IN_COMMENTS = _PRINTABLE - set("*?\\")
"""Without an asterisk no comment ends or begins, without question marks there are no trigraphs, and
without a backslash no line is joined to the next. (The escapes have one, never at the end.)"""
_IN_STRINGS = frozenset(map(ord, _PRINTABLE - set('"?\\')))


_LONGEST_LINE = 2000
"""C promises to read lines of 4095 characters."""


def quoted(name: object) -> str:
    """A name in quotation marks, for a line of a comment or a string; the middle of a long one is
    left out."""
    return f'"{shortened(str(name), LONGEST_NAME)}"'


def comment_text(text: str) -> str:
    """`text` for the inside of a comment: one line of ASCII."""
    return shortened(escaped(text, _IN_COMMENTS.__contains__), _LONGEST_LINE)


def comment(brief: str, *more: str, params: Sequence[tuple[str, str]] = ()) -> str:
    """A comment for Doxygen, whatever its lines hold.

    Parameters
    ----------
    brief
        what is described, in a line.
    more
        further lines.
    params
        name and meaning of each parameter of a function.
    """
    lines = [f"\\brief {comment_text(brief)}", *map(comment_text, more)]
    lines += [f"\\param {name} {comment_text(meaning)}" for name, meaning in params]
    return "/*!\n * " + "\n * ".join(lines) + "\n */"


def c_string(text: str) -> str:
    """`text` as a string literal of ASCII, without trigraphs."""
    content = text.encode("utf-8", "surrogatepass")
    return '"' + "".join(chr(b) if b in _IN_STRINGS else f"\\{b:03o}" for b in content) + '"'
