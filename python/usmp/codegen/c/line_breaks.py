"""Line breaks in long lines of C, as clang-format makes them, for the functions of templates."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

_WIDTH = 100


def broken(line: str) -> str:
    """Break a line that is too long at the commas of its outermost list.

    Further lines are aligned with the first element. If this alignment takes far more lines, all
    elements move below the opening bracket.
    """
    if len(line) <= _WIDTH or line.endswith("\\"):
        return line
    indent = line[: len(line) - len(line.lstrip())]
    if '"" : ' in line:
        instructions, *operands = re.split(" (?=: ?)", line)
        column = " " * (line.index("(") + 1)
        return "\n".join([instructions, *(broken(column + operand) for operand in operands)])
    opening, commas = _outermost_list(line)
    declared = re.match(r" *(?:: |(?:const )?\w+ )", line)
    if not commas or (opening < 0 and declared is None):
        return line
    first_bracket = line.index("(") if "(" in line[:opening] else opening
    rest = f"{indent}    {line[first_bracket + 1 :]}"
    if first_bracket < opening and len(rest) <= _WIDTH:
        return f"{line[: first_bracket + 1]}\n{rest}"
    start = declared.end() if declared and opening < 0 else opening + 1
    # In the head of a loop, break only the last clause.
    start = max(start, line.rfind("; ", start, commas[0]) + 2)
    ends = [*commas, len(line)]
    elements = [line[a + 1 : b + 1].strip() for a, b in pairwise([start - 1, *ends])]
    aligned = _lines_of(elements, line[:start], " " * start)
    hanging = [line[:start], *_lines_of(elements, f"{indent}    ", f"{indent}    ")]
    is_far_less = len(aligned) > 6 and len(hanging) + 3 <= len(aligned)
    return "\n".join(hanging if is_far_less or max(map(len, aligned)) > _WIDTH else aligned)


def _outermost_list(line: str) -> tuple[int, list[int]]:
    """Return the position of the first bracket with commas inside, and the positions of these
    commas. The first position is -1 if a comma is outside of brackets, or if the line has no
    commas."""
    commas: dict[int, list[int]] = {}
    brackets = [-1]
    for position, character in enumerate(
        re.sub(r'"[^"]*"', lambda match: "-" * len(match[0]), line)
    ):
        if character in "([{":
            brackets.append(position)
        elif character in ")]}":
            brackets.pop()
        elif character == ",":
            commas.setdefault(brackets[-1], []).append(position)
    return min(commas.items(), default=(-1, []))


def _lines_of(elements: Sequence[str], first: str, indent: str) -> list[str]:
    lines = [first + elements[0]]
    for element in elements[1:]:
        if len(lines[-1]) + 1 + len(element) > _WIDTH:
            lines.append(indent + element)
        else:
            lines[-1] += " " + element
    return lines
