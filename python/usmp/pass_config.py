"""The pass options `tir.usmp.*` become known to TVM."""

from __future__ import annotations

from usmp.distribution import load_library


def register_options() -> None:
    """Load the C++ library, which registers the options; once or more often is the same.

    TVM calls this at the end of its own import, as this package's entry point in the group
    "tvm.backends"; this package calls it if TVM was there first. TVM without its compiler has no
    pass options.
    """
    # Not usmp._ffi: another thread may be loading that, and wait for TVM there.
    from tvm.base import _LOADED_LIBS

    if "tvm_compiler" in _LOADED_LIBS:
        load_library("usmp")
