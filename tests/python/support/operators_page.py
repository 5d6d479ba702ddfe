"""docs/operators.md as data: the operators of every front end, with their types."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from conftest import ROOT
from support.lazy import lazy
from support.operator_trials.types import Types
from usmp.frontend.pytorch import refused as pytorch_refused
from usmp.frontend.refused_operators import Refusal
from usmp.frontend.tflite.file import refused as tflite_refused

onnx_refused = lazy("usmp.frontend.onnx.graph.refused")

PAGE = ROOT / "docs/operators.md"
TITLES = {"tflite": "TFLite", "onnx": "ONNX", "pytorch": "PyTorch"}
"""Of the sections, by front end."""

_TYPES = """float64 float32 float16 bfloat16 int64 int32 int16 int8 uint64 uint32 uint16 uint8 bool
complex64""".split()
_NONE = "none"

_HEAD = """\
# Operators

Every operator that can be compiled, by front end, with element types. An operator has a type here
if a model of it with inputs, or outputs, of that type was compiled, run and compared with another
runtime: TFLite Micro or LiteRT, onnxruntime or ONNX's evaluator, PyTorch. Indices and masks count
too where they are inputs of the model; constants, such as weights, do not. Integers and booleans
are equal, floats are equal or differ in the last digits.

Operators have the names of the formats, types those of TVM. Which options an operator does not take
is on the page of the front end. Below, each front end lists what it refuses, and what to export
instead. A Relax module of your own may have any operator that TVM lowers to loops.

    python benchmarks/operators_page.py

makes the models, compares them and writes this page.
"""

_REFUSED = {"tflite": tflite_refused, "onnx": onnx_refused, "pytorch": pytorch_refused}

Rows = Mapping[str, Mapping[str, Types]]
"""By front end and operator."""


def write_page(rows: Rows) -> str:
    """The page with these rows."""
    sections = [_HEAD]
    for front_end, title in TITLES.items():
        lines = [
            f"| `{name}` | {_listed(types.inputs)} | {_listed(types.outputs)} |"
            for name, types in sorted(rows[front_end].items())
        ]
        sections.append(
            f"## {title}\n\n{len(lines)} operators; what they do not take: [{title} operators]"
            f"({front_end}-operators.md).\n\n"
            + _table("operator | inputs | outputs", lines)
            + f"\n{title} operators that are refused:\n\n"
            + _table("operator | why | instead", _refused_lines(_REFUSED[front_end].REFUSED))
        )
    return "\n".join(sections)


def _table(head: str, lines: Sequence[str]) -> str:
    columns = head.count("|") + 1
    return "\n".join([f"| {head} |", "|---" * columns + "|", *lines]) + "\n"


def _refused_lines(refused: Mapping[str, Refusal]) -> list[str]:
    """A row for operators that are refused alike."""
    names: dict[Refusal, list[str]] = {}
    for name, refusal in sorted(refused.items()):
        names.setdefault(refusal, []).append(f"`{name}`")
    return [f"| {', '.join(n)} | {r.reason} | {r.instead} |" for r, n in names.items()]


def rows_of_page(page: str) -> dict[str, dict[str, Types]]:
    """The rows that a page has."""
    return {front_end: _rows(_section(page, title)) for front_end, title in TITLES.items()}


def _section(page: str, title: str) -> str:
    sections = re.split(r"^## ", page, flags=re.MULTILINE)
    return next((text for text in sections if text.startswith(f"{title}\n")), "")


def _rows(section: str) -> dict[str, Types]:
    section = section.partition(" refused:\n")[0]
    cells = re.findall(r"^\| `([^`]*)` \| (.*) \| (.*) \|$", section, re.MULTILINE)
    return {name: Types(_names(inputs), _names(outputs)) for name, inputs, outputs in cells}


def _names(cell: str) -> set[str]:
    return set() if cell == _NONE else set(cell.split(", "))


def _listed(types: Iterable[str]) -> str:
    return ", ".join(sorted(types, key=_TYPES.index)) or _NONE
