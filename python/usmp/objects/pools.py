"""Memory pools that the user provides, and their properties.

Source: RFC 0009 of apache/tvm-rfcs, "Guide-level explanation", use cases U1 to U4.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from operator import index
from typing import Any, TypeAlias

from tvm.target import Target
from tvm_ffi import Array, Tensor
from tvm_ffi.dataclasses import c_class

from usmp import _ffi as _ffi
from usmp.objects.ffi_object import ValueObject

READ_WRITE_ACCESS = "rw"
READ_ONLY_ACCESS = "ro"
ANY_IO, ONLY_IO, NO_IO = "any", "only", "no"
"""Values of `PoolInfoProperties.io`."""
_SECTION_NAME = re.compile(r"[A-Za-z0-9_.$,-]+")

Targets: TypeAlias = str | Target | Iterable[Any] | Mapping[Any, str]
"""The targets that may access a pool: one, several, or several with "rw" or "ro" (see
:class:`PoolInfo`)."""


@c_class("usmp.PoolInfoProperties", init=False)
class PoolInfoProperties(ValueObject):
    """The properties of a memory.

    Parameters
    ----------
    size_hint_bytes
        Most bytes that may be used; -1 means no limit.
    clock_frequency_hz
        Clock of the memory in hertz; -1 means unknown.
    read_bandwidth_bytes_per_cycle, write_bandwidth_bytes_per_cycle
        Bytes per clock cycle; -1 means unknown.
    read_latency_cycles, write_latency_cycles
        Clock cycles before the first byte.
    target_burst_bytes
        Burst length in bytes, by target; the default is one byte.
    is_internal
        Whether the compiler emits the pool itself, so that the user does not pass it.
    section_name
        Section of the object file that the linker script places in this memory, such as
        ".dtcm_bss"; if empty, the compiler chooses.
    alignment
        Alignment of the start and the end of each buffer, in bytes, a power of two up to 2**28,
        such as the size of a cache line. 0 means that the executor's alignments are enough.
    pool_offset
        Bytes at the start of the memory that belong to others, up to 2**62; the plan begins behind
        them.
    address
        Address of the memory's first byte, before `pool_offset`; -1 means unknown.
    io
        "only" if the memory holds only inputs and outputs, "no" if it holds neither, else "any".

    Raises
    ------
    ValueError
        A number is out of range, `alignment` is not a power of two, `section_name` is not a valid
        name, or `io` is not one of the three values.
    TypeError
        A number is not an integer, or `io` is not a string.
    """

    size_hint_bytes: int
    clock_frequency_hz: int
    read_bandwidth_bytes_per_cycle: int
    write_bandwidth_bytes_per_cycle: int
    read_latency_cycles: int
    write_latency_cycles: int
    is_internal: bool
    section_name: str
    alignment: int
    pool_offset: int
    address: int
    io: str
    _target_bursts: Array[tuple[Any, int]]

    def __init__(
        self,
        size_hint_bytes: int = -1,
        clock_frequency_hz: int = -1,
        read_bandwidth_bytes_per_cycle: int = -1,
        write_bandwidth_bytes_per_cycle: int = -1,
        read_latency_cycles: int = 0,
        write_latency_cycles: int = 0,
        target_burst_bytes: Mapping[Any, int] | None = None,
        is_internal: bool = False,
        section_name: str = "",
        *,
        alignment: int = 0,
        pool_offset: int = 0,
        address: int = -1,
        io: str = ANY_IO,
    ) -> None:
        if not isinstance(io, str):
            raise TypeError(f'io of a memory pool must be "any", "only" or "no", not {io!r}')
        if section_name and not _SECTION_NAME.fullmatch(section_name):
            raise ValueError(
                f'section_name must be the name of a section, such as ".dtcm_bss", '
                f'not "{section_name}"'
            )
        self.__ffi_init__(
            size_hint_bytes,
            clock_frequency_hz,
            read_bandwidth_bytes_per_cycle,
            write_bandwidth_bytes_per_cycle,
            read_latency_cycles,
            write_latency_cycles,
            list((target_burst_bytes or {}).items()),
            is_internal,
            section_name,
            _whole_number("alignment", alignment),
            _whole_number("pool_offset", pool_offset),
            _whole_number("address", address),
            io,
        )

    @property
    def target_burst_bytes(self) -> dict[Any, int]:
        """The burst length in bytes, by target."""
        return dict(self._target_bursts)


def _whole_number(field: str, value: object) -> int:
    """Return a 64-bit integer, or raise an error that names the field, unlike errors of C++."""
    try:
        number = index(value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(
            f"{field} of a memory pool must be a whole number of bytes, not {value!r}"
        ) from None
    if not -(1 << 63) <= number < 1 << 63:
        raise ValueError(f"{field} of a memory pool must fit in 64 bits with a sign, not {number}")
    return number


@c_class("usmp.PoolInfo", init=False)
class PoolInfo(ValueObject):
    """A memory that a plan may use: the base of workspace and constant pools.

    A target may access the pool if it is listed: as a `tvm.target.Target`, or as a string that is
    its kind or one of its keys. Functions of a target listed with "ro" may read the pool only.

    A planning problem identifies pools by name: two different pools of one name are refused,
    because the emitted code would give both the same memory.
    """

    pool_name: str
    targets: Array[Any]
    read_only_targets: Array[Any]
    size_hint_bytes: int
    clock_frequency_hz: int
    read_bandwidth_bytes_per_cycle: int
    write_bandwidth_bytes_per_cycle: int
    read_latency_cycles: int
    write_latency_cycles: int
    is_internal: bool
    section_name: str
    alignment: int
    pool_offset: int
    address: int
    io: str
    _target_bursts: Array[tuple[Any, int]]

    def __init__(self) -> None:
        raise TypeError("Use WorkspacePoolInfo or ConstantPoolInfo: PoolInfo is only their base")

    @property
    def target_burst_bytes(self) -> dict[Any, int]:
        """The burst length in bytes, by target."""
        return dict(self._target_bursts)

    def properties(self, **changes: Any) -> PoolInfoProperties:
        """Return the properties of the pool with `changes`."""
        names = (
            *("size_hint_bytes", "clock_frequency_hz", "is_internal", "section_name"),
            *("read_bandwidth_bytes_per_cycle", "write_bandwidth_bytes_per_cycle"),
            *("read_latency_cycles", "write_latency_cycles", "target_burst_bytes"),
            *("alignment", "pool_offset", "address", "io"),
        )
        return PoolInfoProperties(**{name: getattr(self, name) for name in names} | changes)

    @property
    def target_access(self) -> dict[Any, str]:
        """The access of each target, "rw" or "ro", as in RFC 0009 of apache/tvm-rfcs."""
        read_only = list(self.read_only_targets)
        return {t: READ_ONLY_ACCESS if t in read_only else READ_WRITE_ACCESS for t in self.targets}


def _listed(targets: Targets) -> list[Any]:
    """Return targets as a list; a single string is one target."""
    return [targets] if isinstance(targets, str | Target) else list(targets)


def _read_only(pool_name: str, targets: Targets) -> list[Any]:
    """Return the targets with read-only access."""
    if not isinstance(targets, Mapping):
        return []
    for target, access in targets.items():
        if access not in (READ_WRITE_ACCESS, READ_ONLY_ACCESS):
            raise ValueError(
                f'access of target {target} to memory pool "{pool_name}" must be '
                f'"{READ_WRITE_ACCESS}" or "{READ_ONLY_ACCESS}", not "{access}"'
            )
    return [target for target, access in targets.items() if access == READ_ONLY_ACCESS]


@c_class("usmp.WorkspacePoolInfo", init=False)
class WorkspacePoolInfo(PoolInfo):
    """A pool of read-write memory for intermediates, scratch, inputs and outputs.

    Parameters
    ----------
    pool_name
        Name of the pool, also in the emitted code.
    targets
        Targets whose functions may access the pool, or a map of these to "rw" or "ro".
    pool_info_properties
        Size hint, speed and so on; all defaults if missing.

    Raises
    ------
    ValueError
        The name is empty, or an access is neither "rw" nor "ro".
    """

    def __init__(
        self,
        pool_name: str,
        targets: Targets,
        pool_info_properties: PoolInfoProperties | None = None,
    ) -> None:
        self.__ffi_init__(
            pool_name,
            _listed(targets),
            _read_only(pool_name, targets),
            pool_info_properties or PoolInfoProperties(),
        )

    def with_properties(self, **changes: Any) -> WorkspacePoolInfo:
        """Return the pool with `changes` of its properties."""
        return WorkspacePoolInfo(self.pool_name, self.target_access, self.properties(**changes))


@c_class("usmp.ConstantInfo", init=False)
class ConstantInfo(ValueObject):
    """One constant at its offset in a constant pool.

    Parameters
    ----------
    name_hint
        Name of the constant.
    byte_offset
        Offset in the pool, in bytes.
    data
        Value of the constant.

    Raises
    ------
    ValueError
        The offset is negative.
    """

    name_hint: str
    byte_offset: int
    data: Tensor

    def __init__(self, name_hint: str, byte_offset: int, data: Tensor) -> None:
        self.__ffi_init__(name_hint, byte_offset, data)


@c_class("usmp.ConstantPoolInfo", init=False)
class ConstantPoolInfo(PoolInfo):
    """A pool of read-only memory, with the constants that were placed in it.

    Parameters
    ----------
    pool_name
        Name of the pool, also in the emitted code.
    targets
        Targets whose functions may access the pool, or a map of these to "rw" or "ro".
    constant_info_arr
        The placed constants; none before planning.
    pool_info_properties
        Size hint, speed and so on; all defaults if missing.

    Raises
    ------
    ValueError
        The name is empty, or an access is neither "rw" nor "ro".
    """

    constant_info_array: Array[ConstantInfo]

    def __init__(
        self,
        pool_name: str,
        targets: Targets,
        constant_info_arr: Iterable[ConstantInfo] | None = None,
        pool_info_properties: PoolInfoProperties | None = None,
    ) -> None:
        self.__ffi_init__(
            pool_name,
            _listed(targets),
            _read_only(pool_name, targets),
            list(constant_info_arr or ()),
            pool_info_properties or PoolInfoProperties(),
        )

    def with_properties(self, **changes: Any) -> ConstantPoolInfo:
        """Return the pool with `changes` of its properties."""
        constants, properties = self.constant_info_array, self.properties(**changes)
        return ConstantPoolInfo(self.pool_name, self.target_access, constants, properties)

    def with_constants(self, constants: Iterable[ConstantInfo]) -> ConstantPoolInfo:
        """Return the pool with other constants in it."""
        return ConstantPoolInfo(self.pool_name, self.target_access, constants, self.properties())


@c_class("usmp.WorkspaceMemoryPools", init=False)
class WorkspaceMemoryPools(ValueObject):
    """The workspace pools of a module, in the user's order of preference.

    Raises
    ------
    ValueError
        Two pools have one name.
    """

    pools: Array[WorkspacePoolInfo]

    def __init__(self, pools: Iterable[WorkspacePoolInfo]) -> None:
        self.__ffi_init__(list(pools))


@c_class("usmp.ConstantMemoryPools", init=False)
class ConstantMemoryPools(ValueObject):
    """The constant pools of a module, in the user's order of preference.

    Raises
    ------
    ValueError
        Two pools have one name.
    """

    pools: Array[ConstantPoolInfo]

    def __init__(self, pools: Iterable[ConstantPoolInfo]) -> None:
        self.__ffi_init__(list(pools))
