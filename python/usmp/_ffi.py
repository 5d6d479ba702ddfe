"""Loads the C++ extension, once: its objects, its algorithms and the ``tir.usmp.*`` options.

``tvm`` comes first, because the extension is linked against the libraries that it brings.
"""

import tvm  # noqa: F401

from usmp.support.distribution import load_library

LIBRARY = load_library("usmp")
