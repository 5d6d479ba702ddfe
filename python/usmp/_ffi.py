"""Loads the C++ extension, once: its objects, its algorithms and the options of a PassContext.

``tvm`` comes first, because the extension is linked against the libraries that it brings.
"""

import tvm  # noqa: F401

from usmp.registration import register_pass_options
from usmp.support.distribution import load_library

LIBRARY = load_library("usmp")
# Where TVM loads no extensions, nothing else registers them.
register_pass_options()
