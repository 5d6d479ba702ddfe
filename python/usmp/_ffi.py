"""The C++ extension, loaded once: its objects and its algorithms.

``tvm`` is loaded first, because the extension is linked against its libraries.
"""

import tvm  # noqa: F401

from usmp.support import WHEN_TVM_IS_LOADED
from usmp.support.distribution import load_library

LIBRARY = load_library("usmp")
for callback in WHEN_TVM_IS_LOADED:
    callback()
