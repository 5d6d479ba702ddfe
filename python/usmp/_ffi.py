"""Loads the C++ extension, once: its objects, its algorithms and the ``tir.usmp.*`` options.

``tvm`` comes first, because the extension is linked against the libraries that it brings.
"""

import tvm  # noqa: F401
from tvm_ffi.libinfo import load_lib_module

LIBRARY = load_lib_module("usmp", "usmp")
