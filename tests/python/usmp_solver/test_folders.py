"""The folders of the C++ solver include each other in one direction, that of its README."""

from __future__ import annotations

import re
from pathlib import Path

from conftest import ROOT

SOLVER = ROOT / "src/usmp_solver"
ROWS = re.findall(r"^\| `([\w.]+)/?` \|", (SOLVER / "README.md").read_text(), re.MULTILINE)
FILES = [path for path in sorted(SOLVER.rglob("*")) if path.suffix in (".h", ".cc")]


def row_of(path: Path) -> int:
    """Its folder's row of the table; what is in no folder is the solver itself."""
    return ROWS.index(path.parts[0] if len(path.parts) > 1 else "solver.h")


def includes_of(file: Path) -> list[Path]:
    return [Path(name) for name in re.findall(r'#include "usmp_solver/(.*)"', file.read_text())]


def test_every_folder_is_in_the_table():
    assert sorted(ROWS) == sorted(
        [*{path.parent.name for path in FILES if path.parent != SOLVER}, "solver.h"]
    )


def test_a_file_includes_what_stands_above_its_folder_in_the_table():
    wrong = [
        f"{file.relative_to(SOLVER)} includes {included}"
        for file in FILES
        for included in includes_of(file)
        if row_of(included) > row_of(file.relative_to(SOLVER))
    ]
    assert wrong == []


def test_headers_include_each_other_in_no_circle():
    left = {
        file.relative_to(SOLVER): set(includes_of(file)) for file in FILES if file.suffix == ".h"
    }
    while free := {header for header, includes in left.items() if not includes & left.keys()}:
        left = {header: includes for header, includes in left.items() if header not in free}
    assert not left


def test_files_name_the_solvers_own_headers_from_its_root():
    quoted = [line for file in FILES for line in re.findall(r'#include ".*', file.read_text())]
    assert [line for line in quoted if not line.startswith('#include "usmp_solver/')] == []
