"""Memory events in profiles of PyTorch: `[memory]` in the `traceEvents` of a Chrome trace."""

from __future__ import annotations

from usmp_solver.formats.allocation_history import AllocationHistory
from usmp_solver.formats.pytorch_data import MOST_BYTES, Record
from usmp_solver.formats.recorded_device import RecordedDevice, check_events

_NAME = "[memory]"
_DEVICE_TYPES = {0: "cpu", 1: "cuda"}


def profile_devices(profile: Record) -> list[RecordedDevice]:
    """Return the devices of the profile whose memory is recorded.

    Raises
    ------
    ValueError
        The profile is malformed, or was recorded without `profile_memory`; the message names the
        event.
    """
    events = profile.items("traceEvents")
    check_events(profile, len(events))
    of_device: dict[str, list[tuple[float, int, int, Record]]] = {}
    for number, entry in enumerate(events):
        event = Record(profile.file, f"event {number}", entry)
        if event.value.get("name") != _NAME:
            continue
        details = event.record("args")
        kind = details.integer("Device Type", -1, 1 << 16)
        index = details.integer("Device Id", -1, 1 << 16)
        name = _DEVICE_TYPES.get(kind, f"device{kind}") + (f"{index}" if index >= 0 else "")
        order = details.integer("Ev Idx", 0, 1 << 62, 0)
        of_device.setdefault(name, []).append((event.number("ts"), order, number, details))
    if not of_device:
        profile.refuse(
            f'has no event "{_NAME}"; make the profile with '
            "torch.profiler.profile(profile_memory=True)"
        )
    return [
        _device(name, sorted(changes, key=lambda change: change[:3]), len(of_device) > 1)
        for name, changes in sorted(of_device.items())
    ]


def _device(
    name: str, changes: list[tuple[float, int, int, Record]], has_prefix: bool
) -> RecordedDevice:
    history = AllocationHistory(len(changes) + 1, f"{name}." if has_prefix else "")
    reserved = 0
    for time, (_, _, _, details) in enumerate(changes):
        count = details.integer("Bytes", -MOST_BYTES, MOST_BYTES)
        act = history.allocate if count >= 0 else history.release
        act(time, name, details.address("Addr"), abs(count))
        reserved = max(reserved, details.integer("Total Reserved", 0, 1 << 62, 0))
    lifetimes = tuple(history.lifetimes())
    return RecordedDevice(name, lifetimes, reserved or None)
