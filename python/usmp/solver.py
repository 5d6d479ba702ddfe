"""The names of `usmp_solver`, the solver without TVM, as a module of this package."""

from usmp_solver import *  # noqa: F403
from usmp_solver import __all__ as __all__
