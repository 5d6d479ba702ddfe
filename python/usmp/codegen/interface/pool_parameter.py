"""A memory pool in the C interface."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from usmp.objects import AllocatedPoolInfo, ConstantPoolInfo
from usmp.objects.pool_places import first_byte


@dataclass(frozen=True)
class PoolParameter:
    """A pool in the C interface; the application passes external pools.

    A pool that `is_empty` holds no buffer: the code ignores its address, which may be NULL.
    """

    info: AllocatedPoolInfo
    c_name: str
    is_empty: bool = False

    @property
    def name(self) -> str:
        """The user's name of the pool."""
        return str(self.info.pool_info.pool_name)

    @property
    def kind(self) -> str:
        """The kind of the pool: "constant" or "workspace"."""
        return "constant" if self.is_constant else "workspace"

    @property
    def macro_name(self) -> str:
        """The part of the pool's macro names after the module's prefix."""
        return f"{self.c_name}_{self.kind}_pool".upper()

    @property
    def section_name(self) -> str:
        """The section of the object file that holds the pool; empty if the user named none."""
        return str(self.info.pool_info.section_name)

    @property
    def size_hint_bytes(self) -> int | None:
        """The user's limit of the pool's size in bytes, or None."""
        hint = int(self.info.pool_info.size_hint_bytes)
        return hint if hint >= 0 else None

    @property
    def is_constant(self) -> bool:
        """Whether the pool holds constants."""
        return isinstance(self.info.pool_info, ConstantPoolInfo)

    @property
    def is_internal(self) -> bool:
        """Whether the pool is part of the generated code."""
        return bool(self.info.pool_info.is_internal)

    @property
    def alignment_bytes(self) -> int:
        """The required alignment of the pool's address, in bytes."""
        return int(self.info.alignment)

    @property
    def size_bytes(self) -> int:
        """Bytes of the pool that the plan uses."""
        return int(self.info.allocated_size)

    @property
    def line_bytes(self) -> int:
        """The user's alignment of both ends of each buffer, in bytes; 0 if there is none."""
        return int(self.info.pool_info.alignment)

    @property
    def pool_offset(self) -> int:
        """Bytes at the start of the memory that the pool must not use."""
        return int(self.info.pool_info.pool_offset)

    @property
    def address(self) -> int | None:
        """The address of the memory's first byte, if it is known."""
        address = int(self.info.pool_info.address)
        return address if address >= 0 else None

    @property
    def first_byte(self) -> int:
        """The offset in the memory at which the plan begins, in bytes."""
        return 0 if self.is_empty else first_byte(self.info.pool_info, self.alignment_bytes)

    @property
    def first_address(self) -> int | None:
        """The address at which the plan begins, if it is known."""
        return None if self.address is None else self.address + self.first_byte

    @property
    def memory_bytes(self) -> int:
        """Bytes of the memory with the pool's name in C: the plan's bytes, and for an external pool
        also the bytes before the plan."""
        return self.size_bytes + (0 if self.is_internal else self.first_byte)

    @property
    def memory_alignment(self) -> int:
        """The required alignment, in bytes, of the memory that `memory_bytes` measures."""
        if self.is_internal or self.address is None:
            return self.alignment_bytes
        return gcd(self.address, self.alignment_bytes)
