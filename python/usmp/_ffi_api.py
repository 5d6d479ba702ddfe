"""Functions of the C++ library, with their types.

A tool of tvm-ffi writes the text between "begin" and "end" from the functions that the library has
registered; a test compares the two. After a change in C++:

    .venv/bin/tvm-ffi-stubgen --imports usmp._ffi python/usmp/_ffi_api.py
"""

# tvm-ffi-stubgen(begin): import-section
# fmt: off
# isort: off
from __future__ import annotations
from tvm_ffi import init_ffi_api as _FFI_INIT_FUNC
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from tvm_ffi import Tensor
    from typing import Any
    from usmp import BufferInfo, PoolAllocation
# isort: on
# fmt: on
# tvm-ffi-stubgen(end)

from usmp import _ffi as _ffi

# tvm-ffi-stubgen(begin): global/usmp
# fmt: off
_FFI_INIT_FUNC("usmp", __name__)
if TYPE_CHECKING:
    def check_relations(_0: Sequence[BufferInfo], _1: Sequence[tuple[Sequence[BufferInfo], Mapping[BufferInfo, int]]], _2: str, /) -> None: ...
    def judged_columns(_0: Sequence[BufferInfo], _1: Mapping[BufferInfo, PoolAllocation], /) -> Mapping[str, Tensor]: ...
    def problem_columns(_0: Sequence[BufferInfo], /) -> Mapping[str, Any]: ...
    def register_pass_options(_0: Mapping[str, str], /) -> None: ...
    def relations_of(_0: Sequence[BufferInfo], /) -> Sequence[tuple[Sequence[BufferInfo], Mapping[BufferInfo, int]]]: ...
# fmt: on
# tvm-ffi-stubgen(end)
