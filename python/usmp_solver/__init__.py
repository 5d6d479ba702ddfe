"""The placement problem by itself, for any compiler.

Importing it loads NumPy; its C++ library comes with the first call that needs it. Nothing here
loads TVM.
"""

from usmp_solver.buffers import Buffer, Pool
from usmp_solver.check import check_columns
from usmp_solver.csv_reader import CsvProblem, parse_csv, read_csv
from usmp_solver.csv_writer import write_csv
from usmp_solver.does_not_fit import DoesNotFit, EnoughBytes, RefusingPool, Unplaced
from usmp_solver.explanation import explain
from usmp_solver.include import get_include
from usmp_solver.peak import live_at_peak
from usmp_solver.problem import Problem
from usmp_solver.solution import Solution, Status
from usmp_solver.solver import ALGORITHMS, SEARCHES, Progress, lower_bound, solve

__all__ = [
    "ALGORITHMS",
    "SEARCHES",
    "Buffer",
    "CsvProblem",
    "DoesNotFit",
    "EnoughBytes",
    "Pool",
    "Problem",
    "Progress",
    "RefusingPool",
    "Solution",
    "Status",
    "Unplaced",
    "check_columns",
    "explain",
    "get_include",
    "live_at_peak",
    "lower_bound",
    "parse_csv",
    "read_csv",
    "solve",
    "write_csv",
]
