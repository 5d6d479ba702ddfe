"""The placement problem as a solver for any compiler.

Buffers that are never live together may share bytes. `solve` finds offsets with the lowest peak,
and says whether the peak is proved to be the lowest possible::

    from usmp_solver import Buffer, Problem, solve

    a, b, c = Buffer("a", 64, [(0, 2)]), Buffer("b", 32, [(1, 3)]), Buffer("c", 64, [(2, 4)])
    solution = solve(Problem.from_buffers([a, b, c]))
    assert solution.peak == 96 and solution.is_optimal

`Problem` has columns of numbers, for millions of buffers. `read_buffers` reads all file formats:
`read_csv` those of MiniMalloc, `read_omnimalloc` those of OmniMalloc, `read_pytorch` recordings of
PyTorch. `write_csv` writes plans. `colocate` joins buffers that lie inside others. `check_columns`
checks a plan independently, and `explain` explains why no plan exists. `get_include` returns the
folder of the C++ headers; the README in `src/usmp_solver` describes the C++ sources.

The import loads NumPy; the first call that needs the C++ library loads it. TVM is never loaded.
"""

from usmp_solver.buffers import Buffer, Pool
from usmp_solver.check import check_columns
from usmp_solver.colocation import Colocation, colocate
from usmp_solver.does_not_fit import DoesNotFit, EnoughBytes, RefusingPool, Unplaced
from usmp_solver.explanation import explain
from usmp_solver.formats.buffers_file import parse_buffers, read_buffers
from usmp_solver.formats.csv_problem import CsvProblem
from usmp_solver.formats.csv_reader import parse_csv, read_csv
from usmp_solver.formats.csv_writer import write_csv
from usmp_solver.formats.omnimalloc import parse_omnimalloc, read_omnimalloc
from usmp_solver.formats.pytorch import PytorchProblem, parse_pytorch, read_pytorch
from usmp_solver.formats.recorded_device import RecordedDevice
from usmp_solver.include import get_include
from usmp_solver.peak import live_at_peak
from usmp_solver.problem import Problem
from usmp_solver.solution import Solution, Status
from usmp_solver.solver import ALGORITHMS, SEARCHES, Progress, lower_bound, solve

__all__ = [
    "ALGORITHMS",
    "SEARCHES",
    "Buffer",
    "Colocation",
    "CsvProblem",
    "DoesNotFit",
    "EnoughBytes",
    "Pool",
    "Problem",
    "Progress",
    "PytorchProblem",
    "RecordedDevice",
    "RefusingPool",
    "Solution",
    "Status",
    "Unplaced",
    "check_columns",
    "colocate",
    "explain",
    "get_include",
    "live_at_peak",
    "lower_bound",
    "parse_buffers",
    "parse_csv",
    "parse_omnimalloc",
    "parse_pytorch",
    "read_buffers",
    "read_csv",
    "read_omnimalloc",
    "read_pytorch",
    "solve",
    "write_csv",
]
