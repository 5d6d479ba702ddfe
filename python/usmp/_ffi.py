"""Loads the C++ extension, once: its objects and its algorithms.

``tvm`` comes first, because the extension is linked against the libraries that it brings.
"""

import tvm  # noqa: F401

from usmp.support.distribution import load_library
from usmp.support.when_tvm_is_loaded import CALLBACKS

LIBRARY = load_library("usmp")
for callback in CALLBACKS:
    callback()
