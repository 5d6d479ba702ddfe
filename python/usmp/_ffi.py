"""Loads the C++ extension, once: its objects and its algorithms.

``tvm`` comes first, because the extension is linked against the libraries that it brings.
"""

import tvm  # noqa: F401

from usmp.support.distribution import load_library

LIBRARY = load_library("usmp")
