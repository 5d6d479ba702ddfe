"""Loads the solver's C++ library, once. It needs tvm-ffi, but not TVM."""

from tvm_ffi.libinfo import load_lib_module

LIBRARY = load_lib_module("usmp", "usmp_solver")
