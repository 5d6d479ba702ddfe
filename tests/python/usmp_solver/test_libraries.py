"""The solver is in one shared library, so that only one can answer."""

from __future__ import annotations

from pathlib import Path

import usmp
import usmp_solver

# What the solver says of a problem that is not well formed: no other code says it.
OF_THE_SOLVER = b" is pinned to the negative offset "


def test_one_shared_library_has_the_solver():
    folders = [Path(folder) for package in (usmp, usmp_solver) for folder in package.__path__]
    libraries = [path for folder in folders for path in sorted(folder.glob("libusmp*"))]
    assert {path.stem for path in libraries} == {"libusmp", "libusmp_solver"}
    with_solver = [path.stem for path in libraries if OF_THE_SOLVER in path.read_bytes()]
    assert with_solver == ["libusmp_solver"]
