"""Where buffers were placed, and what that takes of each pool.

Source: RFC 0009 of apache/tvm-rfcs, "Reference-level explanation".
"""

from __future__ import annotations

from tvm_ffi.dataclasses import c_class

from usmp.objects.ffi_object import ValueObject
from usmp.objects.pools import PoolInfo


@c_class("usmp.PoolAllocation", init=False)
class PoolAllocation(ValueObject):
    """Pool and byte offset of one buffer.

    Any offset is taken; whether a plan is sound is for :func:`usmp.analysis.check_plan` to say.
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
        Bytes taken.
    pool_var_idx
        Number of the pool among all pools of the plan, as in the names of its parameters.
    alignment
        Bytes of which the address of the pool must be a multiple.

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
