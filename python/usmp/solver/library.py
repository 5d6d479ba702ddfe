"""Loads the solver's C++ library, once. It needs tvm-ffi, but not TVM."""

from usmp.distribution import load_library

LIBRARY = load_library("usmp_solver")
