"""The solver by itself, for those who look for it here: the names of `usmp_solver`, without TVM."""

from usmp_solver import *  # noqa: F403
from usmp_solver import __all__ as __all__
