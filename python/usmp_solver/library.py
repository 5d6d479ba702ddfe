"""Loads the solver's C++ library, once. It needs tvm-ffi, but not TVM."""

import sys
from pathlib import Path

from tvm_ffi.libinfo import load_lib_module

_FOLDERS = [Path(folder) for folder in sys.modules["usmp_solver"].__path__]

LIBRARY = load_lib_module("tvm-usmp", "usmp_solver", extra_lib_paths=_FOLDERS)
