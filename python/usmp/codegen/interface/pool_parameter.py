"""A memory pool, as the C interface names it."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd

from usmp.objects import AllocatedPoolInfo, ConstantPoolInfo
from usmp.objects.pool_places import first_byte


@dataclass(frozen=True)
class PoolParameter:
    """A pool of the C interface; an external one is passed by the application.

    Nothing lies in a pool that `is_empty`: the code does not read its address, which may be NULL.
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
        """What it holds, in a word: "constant" or "workspace"."""
        return "constant" if self.is_constant else "workspace"

    @property
    def macro_name(self) -> str:
        """The part between the module's prefix and the meaning in the names of its macros."""
        return f"{self.c_name}_{self.kind}_pool".upper()

    @property
    def section_name(self) -> str:
        """The section of the object file that holds it; empty if the user named none."""
        return str(self.info.pool_info.section_name)

    @property
    def size_hint_bytes(self) -> int | None:
        """Bytes that the user gave the pool, if any were given."""
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
        """Bytes of which its address must be a multiple."""
        return int(self.info.alignment)

    @property
    def size_bytes(self) -> int:
        """Bytes that the plan takes of the pool."""
        return int(self.info.allocated_size)

    @property
    def line_bytes(self) -> int:
        """Bytes at whose multiples each buffer starts and ends; 0 if the user set no alignment."""
        return int(self.info.pool_info.alignment)

    @property
    def pool_offset(self) -> int:
        """Bytes at the start of the memory that belong to others."""
        return int(self.info.pool_info.pool_offset)

    @property
    def address(self) -> int | None:
        """Address of the memory's first byte, if it is known."""
        address = int(self.info.pool_info.address)
        return address if address >= 0 else None

    @property
    def first_byte(self) -> int:
        """Byte of the memory at which the plan begins, the first one that it may touch."""
        return 0 if self.is_empty else first_byte(self.info.pool_info, self.alignment_bytes)

    @property
    def first_address(self) -> int | None:
        """Address at which the plan begins, if it is known."""
        return None if self.address is None else self.address + self.first_byte

    @property
    def memory_bytes(self) -> int:
        """Bytes of what C knows by the pool's name: of an internal pool the plan alone, of an
        external one the memory from its first byte to the end of the plan."""
        return self.size_bytes + (0 if self.is_internal else self.first_byte)

    @property
    def memory_alignment(self) -> int:
        """Bytes of which the address of that must be a multiple."""
        if self.is_internal or self.address is None:
            return self.alignment_bytes
        return gcd(self.address, self.alignment_bytes)
