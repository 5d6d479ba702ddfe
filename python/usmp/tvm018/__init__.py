"""The names of TVM 0.18 that are accepted, mapped to others or refused, and why.

Data that the command line, the Python functions and the documents read. Names that mean what they
meant in TVM 0.18 stand in no table.
"""

from usmp.tvm018 import compile_flags
from usmp.tvm018.old_name import ACCEPTED, MAPPED, REFUSED, OldName, find
from usmp.tvm018.run_flags import RUN_FLAGS
from usmp.tvm018.targets import (
    TARGET_FLAGS,
    TARGET_NAMES,
    TARGET_OPTION_FLAGS,
    TARGET_OPTION_ROWS,
)

COMPILE_FLAGS: tuple[OldName, ...] = (*compile_flags.COMPILE_FLAGS, *TARGET_FLAGS)
"""Flags of `tvmc compile` that the command line is rewritten by."""

SECTIONS: dict[str, tuple[OldName, ...]] = {
    "tvmc compile": (*COMPILE_FLAGS, *TARGET_OPTION_FLAGS),
    "tvmc run": RUN_FLAGS,
    "targets": TARGET_NAMES,
    **{f"target {name}": rows for name, rows in TARGET_OPTION_ROWS.items()},
}
"""All rows, by where users write the names."""

__all__ = [
    "ACCEPTED",
    "COMPILE_FLAGS",
    "MAPPED",
    "REFUSED",
    "RUN_FLAGS",
    "SECTIONS",
    "TARGET_NAMES",
    "TARGET_OPTION_ROWS",
    "OldName",
    "find",
]
