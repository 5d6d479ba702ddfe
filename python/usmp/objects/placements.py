"""Places of buffers, and the bytes that a plan takes of each pool.

Source: RFC 0009 of apache/tvm-rfcs, "Reference-level explanation".
"""

from __future__ import annotations

from tvm_ffi.dataclasses import c_class

from usmp.objects.ffi_object import ValueObject
from usmp.objects.pools import PoolInfo


@c_class("usmp.PoolAllocation", init=False)
class PoolAllocation(ValueObject):
    """Pool and byte offset of one buffer.

    Offsets are not checked here, but by :func:`usmp.analysis.check_plan`.
    """

    pool_info: PoolInfo
    byte_offset: int

    def __init__(self, pool_info: PoolInfo, byte_offset: int) -> None:
        self.__ffi_init__(pool_info, byte_offset)


@c_class("usmp.AllocatedPoolInfo", init=False)
class AllocatedPoolInfo(ValueObject):
    """A pool with the bytes that a plan takes of it.

    Parameters
    ----------
    pool_info
        The pool.
    allocated_size
        Bytes that the plan takes.
    pool_var_idx
        Index of the pool among all pools of the plan, as in the names of its parameters.
    alignment
        Alignment of the pool's address, in bytes.

    Raises
    ------
    ValueError
        A number is negative, or the alignment is not positive.
    """

    pool_info: PoolInfo
    allocated_size: int
    pool_var_idx: int
    alignment: int

    def __init__(
        self, pool_info: PoolInfo, allocated_size: int, pool_var_idx: int = 0, alignment: int = 1
    ) -> None:
        self.__ffi_init__(pool_info, allocated_size, pool_var_idx, alignment)
