"""CMake projects in C++ that use the solver without TVM."""

from __future__ import annotations

from pathlib import Path

import usmp_solver

# Where the C++ library is installed: headers, archive and CMake package.
INSTALLED = Path(usmp_solver.get_include()).parent
