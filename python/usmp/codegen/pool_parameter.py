"""A memory pool, as the C interface names it."""

from __future__ import annotations

from dataclasses import dataclass

from usmp.objects import AllocatedPoolInfo, ConstantPoolInfo


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
