"""`tvmc list`: list the targets, boards, algorithms and options of a build."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any, TypeAlias

from usmp.driver.options.accelerators import add_extension_option, load_extensions
from usmp.driver.terminal.help import add_command
from usmp.names import ALGORITHMS, BOARDS, CORES, OPTIONAL_PASSES, PASS_OPTIONS, TARGETS
from usmp.parts import PARTS
from usmp.support.text.wrapped_text import line_width, wrapped
from usmp.tvm018 import SECTIONS as OLD_NAMES
from usmp.tvm018 import OldName

Rows: TypeAlias = list[dict[str, Any]]

_LEAST_WIDTH, _LEAST_SENTENCE, _INDENT = 32, 56, 6
"""Fewest characters of a description or a sentence beside its name, and the indent below it."""

_EXAMPLES = """\
  tvmc list                         everything, in sections
  tvmc list algorithms              one section
  tvmc list pass-configs --format json
  tvmc list options-of-0.18         options of TVM 0.18 that are accepted, mapped or refused
  tvmc list algorithms --extension mine.py
                                    with those that your own Python registers"""


def add_list_parser(commands: Any) -> None:
    """Add `tvmc list` and its options."""
    parser = add_command(
        commands,
        "list",
        list_choices,
        summary="show targets, cores, boards, parts, algorithms, pass options and optional passes",
        description="Show what a build can choose from, or what became of the options of TVM 0.18.",
        examples=_EXAMPLES,
    )
    parser.add_argument(
        "SECTION",
        nargs="?",
        choices=[*SECTIONS, OLD_OPTIONS],
        help=f"{', '.join(SECTIONS)} (all of these), or {OLD_OPTIONS}",
    )
    parser.add_argument(
        "--format", choices=("table", "json"), default="table", help="how to show it"
    )
    add_extension_option(parser)


def list_choices(options: argparse.Namespace) -> None:
    """Carry out `tvmc list`."""
    load_extensions(options.extension)
    if options.SECTION == OLD_OPTIONS:
        sections = {where: _old_names(rows) for where, rows in OLD_NAMES.items()}
    else:
        names = [options.SECTION] if options.SECTION else list(SECTIONS)
        sections = {name: SECTIONS[name]() for name in names}
    if options.format == "json":
        print(json.dumps(sections, indent=2))
    else:
        width = line_width(sys.stdout)
        print("\n\n".join(_table(name, rows, width) for name, rows in sections.items()))


def _table(title: str, rows: Rows, width: int) -> str:
    names = max(len(row["name"]) for row in rows)
    lines = [f"{title}:"]
    for above, row in pairwise([{"name": None}, *rows]):
        lines += _lines(row, names, width, above["name"])
    return "\n".join(lines)


def _lines(row: dict[str, Any], names: int, width: int, above: str | None) -> Iterator[str]:
    """Yield the lines of a row: the description beside its name, or below it on narrow terminals.

    Omit a name above a description if the previous row has it too.
    """
    name = f"  {row['name']:{names}}  "
    if width < len(name) + (_LEAST_SENTENCE if "verdict" in row else _LEAST_WIDTH):
        if row["name"] != above:
            yield f"  {row['name']}"
        name = " " * _INDENT
    first, *others = wrapped(_line(row), width - len(name))
    yield name + first
    yield from (" " * len(name) + other for other in others)


def _line(row: dict[str, Any]) -> str:
    if "verdict" in row:
        values = ", ".join(filter(None, row["values"])) or ('""' if row["values"] else "")
        beside = f"beside {row['beside']}".replace("beside !", "without ") if row["beside"] else ""
        case = " ".join(filter(None, [values, beside, "is" if values or beside else ""]))
        return f"{case} {row['verdict']}: {row['description']}".lstrip()
    if "type" not in row:
        return str(row["description"])
    meanings = row["meanings"]
    options = [f"{v}: {meanings[v]}" if v in meanings else v for v in row["values"]]
    text = ("; " if meanings else ", ").join(options) or row["type"]
    default = f"; default: {row['default']}" if row["default"] is not None else ""
    return f"{row['description']} ({text}{default})"


def _targets() -> Rows:
    rows = [{"name": name, "description": text} for name, text in TARGETS.items()]
    text = "accelerator that patterns are registered for; name it beside c or llvm"
    return rows + [{"name": name, "description": text} for name in _accelerators()]


def _accelerators() -> list[str]:
    """Return the accelerators with registered patterns: none if TVM is not loaded."""
    if "tvm" not in sys.modules:
        return []
    from usmp.relax.accelerators import registered_accelerators

    return registered_accelerators()


def _cores() -> Rows:
    return [{"name": name, "description": text} for name, text in CORES.items()]


def _boards() -> Rows:
    return [{"name": name, "description": text} for name, text in BOARDS.items()]


def _parts() -> Rows:
    return [
        {
            "name": name,
            "description": f"{part.description}: {part.core}, RAM {_kibibytes(part.ram_bytes)}, "
            f"flash {_kibibytes(part.flash_bytes)}",
            "core": part.core,
            "ram_bytes": part.ram_bytes,
            "flash_bytes": part.flash_bytes,
            "source": part.source,
        }
        for name, part in PARTS.items()
    ]


def _kibibytes(size_bytes: int) -> str:
    return f"{size_bytes // 1024}K"


def _algorithms() -> Rows:
    rows = [{"name": name, "description": text} for name, text in ALGORITHMS.items()]
    custom = [name for name in _registered_algorithms() if name not in ALGORITHMS]
    text = "registered as tir.usmp.algo.{}; choose it with tir.usmp.custom_algorithm"
    return rows + [{"name": name, "description": text.format(name)} for name in custom]


def _registered_algorithms() -> list[str]:
    """Return the registered algorithms: none if tvm-ffi is not loaded."""
    if "tvm_ffi" not in sys.modules:
        return []
    from usmp.algorithms import registered_algorithms

    return registered_algorithms()


def _pass_configs() -> Rows:
    return [
        {
            "name": name,
            "type": option.type_name,
            "values": list(option.values),
            "meanings": {value: text for value, text in option.values.items() if text},
            "default": option.default,
            "description": option.description,
        }
        for name, option in PASS_OPTIONS.items()
    ]


def _passes() -> Rows:
    return [{"name": name, "description": text} for name, text in OPTIONAL_PASSES.items()]


def _old_names(rows: Iterable[OldName]) -> Rows:
    """Return a row for each name of TVM 0.18, with its values, its verdict and the reason."""
    return [
        {
            "name": row.name,
            "values": list(row.values),
            "verdict": row.verdict,
            "to": list(row.to),
            "changes_meaning": row.changes_meaning,
            "beside": row.beside,
            "description": row.reason,
        }
        for row in rows
    ]


OLD_OPTIONS = "options-of-0.18"
"""The section with the names of TVM 0.18, which is shown only on request."""

SECTIONS = {
    "targets": _targets,
    "cores": _cores,
    "boards": _boards,
    "parts": _parts,
    "algorithms": _algorithms,
    "pass-configs": _pass_configs,
    "passes": _passes,
}
"""Functions that make the rows of each section, by the name of the section."""
