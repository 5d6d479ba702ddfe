"""Conversion of memory recordings of PyTorch to a problem: how few bytes would suffice?

There are two kinds of files. Snapshots come from `torch.cuda.memory._dump_snapshot`, as a pickle of
plain data or as JSON; `torch/cuda/memory.py` (`_snapshot`) describes them. Profiles come from
`torch.profiler.profile(profile_memory=True)` and `export_chrome_trace`, also for CPUs.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from usmp_solver.buffers import Pool
from usmp_solver.columns import column
from usmp_solver.formats.allocation_history import Lifetime
from usmp_solver.formats.pool_limits import pool_limits
from usmp_solver.formats.pytorch_data import load
from usmp_solver.formats.pytorch_profile import profile_devices
from usmp_solver.formats.pytorch_snapshot import snapshot_devices
from usmp_solver.formats.recorded_device import RecordedDevice
from usmp_solver.problem import Problem

_SNAPSHOT_UNIT = 512
_PROFILE_UNIT = 64


@dataclass(frozen=True)
class PytorchProblem:
    """A problem, and the recording that it comes from.

    Parameters
    ----------
    file
        name of the file, for messages.
    problem
        a buffer for every block that was live, and a pool for every device, stream and memory pool.
        Blocks of one pool can replace each other.
    devices
        recorded facts about each device.
    origins
        position of each buffer in the file, such as "event 12 of device0".
    """

    file: str
    problem: Problem
    devices: tuple[RecordedDevice, ...]
    origins: tuple[str, ...]

    def where(self, buffer: int) -> str:
        """Return the position of the buffer in the file, such as "event 12 of device0"."""
        return self.origins[buffer]


def read_pytorch(
    path: str | os.PathLike[str],
    capacity: int | Mapping[str, int] | None = None,
    *,
    unit: int | None = None,
) -> PytorchProblem:
    """Read a memory snapshot or a profile of PyTorch.

    Parameters
    ----------
    path
        the file.
    capacity, unit
        see `parse_pytorch`.

    Raises
    ------
    ValueError
        The file has neither format; the message names the event.
    """
    return parse_pytorch(os.fspath(path), Path(path).read_bytes(), capacity, unit=unit)


def parse_pytorch(
    file: str,
    data: bytes,
    capacity: int | Mapping[str, int] | None = None,
    *,
    unit: int | None = None,
) -> PytorchProblem:
    """Return the problem in the file.

    Time is the order of events. A block is live from its allocation until it may be reused
    (`free_completed`). A block that was allocated before the recording is live from the beginning;
    a block that is never released is live to the end. Nothing in the file is executed:
    only plain data of a pickle is read.

    Parameters
    ----------
    file
        name of the file, for messages.
    data
        content of the file.
    capacity
        size of the only pool, or of each pool by name, in bytes; None for no limit.
    unit
        divisor of sizes and offsets in bytes. None means PyTorch's own: 512 for a snapshot, whose
        events have the requested bytes, and 64 for a profile.

    Raises
    ------
    ValueError
        The file is no snapshot or profile, or the capacity does not match it; the message names
        file and event.
    """
    record = load(file, data)
    if "device_traces" in record.value:
        devices, default_unit = snapshot_devices(record), _SNAPSHOT_UNIT
    elif "traceEvents" in record.value:
        devices, default_unit = profile_devices(record), _PROFILE_UNIT
    else:
        record.refuse(
            'has neither "device_traces", as snapshots of torch.cuda.memory have, nor '
            '"traceEvents", as profiles of torch.profiler have'
        )
    if unit is None:
        unit = default_unit
    if unit < 1:
        raise ValueError(f"the unit of sizes must be 1 byte or more, not {unit}")
    pairs = [(device, life) for device in devices for life in device.lifetimes]
    if not pairs:
        raise ValueError(f"{file}: no memory is allocated in this recording; nothing is to plan")
    lifetimes = [life for _, life in pairs]
    pools = _pools(file, lifetimes, capacity)
    numbers = {pool.name: number for number, pool in enumerate(pools)}
    problem = Problem(
        names=[life.name for life in lifetimes],
        pools=pools,
        sizes=column(-(-life.size // unit) * unit for life in lifetimes),
        alignments=column([unit] * len(lifetimes)),
        candidate_first=column(range(len(lifetimes) + 1)),
        candidates=column(numbers[life.pool] for life in lifetimes),
        live_first=column(range(len(lifetimes) + 1)),
        live_starts=column(life.start for life in lifetimes),
        live_stops=column(life.stop for life in lifetimes),
    )
    origins = tuple(f"{life.origin} of {device.name}" for device, life in pairs)
    return PytorchProblem(file, problem, tuple(devices), origins)


def _pools(
    file: str, lifetimes: Sequence[Lifetime], capacity: int | Mapping[str, int] | None
) -> tuple[Pool, ...]:
    names = sorted({life.pool for life in lifetimes})
    limits = pool_limits(file, names, capacity)
    unknown = sorted(set(limits) - set(names))
    if unknown:
        raise ValueError(
            f'{file}: no memory is in the pool "{unknown[0]}" that a capacity is given for; '
            f"pools of the file: {', '.join(names)}"
        )
    return tuple(Pool(name, limits.get(name)) for name in names)
