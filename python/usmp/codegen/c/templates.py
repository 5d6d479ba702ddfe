"""Templates of C: one text for functions that differ only in numbers and names.

A template is C with the forms below. Expressions are Python expressions. Clauses are those of
Python's comprehensions: `for c in range(C)`, `if P > 1`, or both.

    $let name = expression   binds a name to a value
    $name, ${expression}     the value
    $[text clause]           the text for each value, separated by commas; without values, a comma
                             beside it is removed too
    text $clause             a line for each value
    $clause                  the lines up to $end for each value; without values, those after $else

Terms with the factor 0, factors 1 and summands 0 are removed. Lines are broken again as
clang-format breaks them, regardless of the template's line breaks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from types import CodeType
from typing import Any

from usmp.codegen.c.line_breaks import broken

Names = Mapping[str, Any]

_LET = re.compile(r"\$let (\w+) = (.*)")
_BLOCK = re.compile(r"\$((?:for|if) .*)")
_REPEATED = re.compile(r"(.*\S) +\$((?:for|if) .*)")
_LIST = re.compile(r"\$\[((?:[^\[\]]|\[[^\]]*\])*?) ((?:for|if) [^\[\]]*)\]")
_VALUE = re.compile(r"\$(?:\{([^}]*)\}|(\w+))")
_NOTHING = "$[]"


def _parts(count: int, size: int) -> list[range]:
    """Split the numbers below `count` into ranges of up to `size`."""
    return [range(first, min(first + size, count)) for first in range(0, count, size)]


_BUILTINS = {"__builtins__": {"len": len, "min": min, "range": range, "parts": _parts}}


def expand(template: str, names: Names) -> str:
    """Return the C text of a template, with values for its free names."""
    lines = _expanded(_joined(template), {**_BUILTINS, **names})
    text = "\n".join(map(broken, lines))
    return re.sub(r"\n{3,}", "\n\n", text).rstrip("\n") + "\n"


def _joined(text: str) -> list[str]:
    """Return the lines of a template, joined where they end with a comma or a parenthesis."""
    lines: list[str] = []
    is_open = in_comment = False
    for line in text.split("\n"):
        if is_open and not line.lstrip().startswith('"'):
            lines[-1] += line.lstrip() if lines[-1].endswith("(") else " " + line.lstrip()
        else:
            lines.append(line)
        in_comment = (in_comment or "/*" in line) and "*/" not in line
        is_open = not in_comment and line.endswith((",", "("))
    return lines


def _expanded(lines: Sequence[str], names: Names) -> Iterator[str]:
    position = 0
    while position < len(lines):
        line = lines[position]
        position += 1
        if "$" not in line:
            yield line
        elif let := _LET.fullmatch(line):
            names = {**names, let[1]: _evaluated(let[2], names)}
        elif block := _BLOCK.fullmatch(line):
            end, otherwise = _end_of_block(lines, position)
            values = _values(block[1], names)
            for bound in values:
                yield from _expanded(lines[position:otherwise], {**names, **bound})
            if not values:
                yield from _expanded(lines[otherwise + 1 : end], names)
            position = end + 1
        elif repeated := _REPEATED.fullmatch(line):
            for bound in _values(repeated[2], names):
                yield _filled(repeated[1], {**names, **bound})
        else:
            yield _filled(line, names)


def _end_of_block(lines: Sequence[str], begin: int) -> tuple[int, int]:
    """Return the line numbers of a block's `$end` and `$else`; without `$else`, `$end` twice."""
    depth, otherwise = 1, 0
    for position in range(begin, len(lines)):
        depth += bool(_BLOCK.fullmatch(lines[position])) - (lines[position] == "$end")
        if depth == 0:
            return position, otherwise or position
        if depth == 1 and lines[position] == "$else":
            otherwise = position
    raise ValueError(f"no $end for {lines[begin - 1]}")


def _values(clause: str, names: Names) -> list[Names]:
    """Return the names that a clause binds, with their values in each of its iterations."""
    if clause.startswith("if "):
        clause = f"for _ in range(1) {clause}"
    bound = ", ".join(re.findall(r"\bfor (.+?) in ", clause))
    rows = _evaluated(f"[({bound},) {clause}]", names)
    return [dict(zip(bound.split(", "), row, strict=True)) for row in rows]


def _evaluated(expression: str, names: Names) -> Any:
    return eval(_code(expression), dict(names))


@cache
def _code(expression: str) -> CodeType:
    return compile(expression, "<template>", "eval")


def _filled(line: str, names: Names) -> str:
    def listed(match: re.Match[str]) -> str:
        texts = [_filled(match[1], {**names, **bound}) for bound in _values(match[2], names)]
        return ", ".join(texts) or _NOTHING

    def value(match: re.Match[str]) -> str:
        return str(_evaluated(match[1] or match[2], names))

    listed_line = _LIST.sub(listed, line).replace(f", {_NOTHING}", "").replace(f"{_NOTHING}, ", "")
    return _simplified(_VALUE.sub(value, listed_line.replace(_NOTHING, "")))


def _simplified(line: str) -> str:
    line = re.sub(r"\b1 \* (?=\w)", "", re.sub(r"\b0 \* \w+", "0", line))
    return re.sub(r" \+ 0(?![\w.])|(?<![\w.])0 \+ ", "", line)
