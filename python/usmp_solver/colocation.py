"""Buffers that lie inside others: views, slices of one storage, state with a shared place."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from math import lcm

from usmp_solver.buffers import Buffer
from usmp_solver.solution import Solution


@dataclass(frozen=True)
class Colocation:
    """Joined buffers to solve for, and the position of each original buffer in them.

    Parameters
    ----------
    buffers
        buffers that lie in no other buffer. Each is large enough for its members, and live whenever
        one of its members is.
    members
        for each original buffer, by name: the name of its container in `buffers`, and the byte
        offset of the original buffer in this container.
    """

    buffers: tuple[Buffer, ...]
    members: Mapping[str, tuple[str, int]]

    def places(self, solution: Solution) -> dict[str, tuple[str, int]]:
        """Return the pool name and the byte offset of every original buffer, by name.

        `solution` solves the problem of `buffers`.
        """
        hosts = solution.places
        return {
            name: (hosts[host][0], hosts[host][1] + start)
            for name, (host, start) in self.members.items()
        }


def colocate(buffers: Iterable[Buffer], within: Mapping[str, tuple[str, int]]) -> Colocation:
    """Join each buffer that must lie inside another buffer with its container.

    A joined buffer is live as a whole whenever one of its parts is. Parts that share bytes may be
    live together. `Buffer.overlaps` from or to a joined buffer are dropped, which is conservative:
    the two buffers then share no bytes.

    Parameters
    ----------
    buffers
        all original buffers.
    within
        for each inner buffer, by name: the name of its container, and the byte offset in it. An
        inner buffer may end beyond its container. A container may lie in another buffer.

    Raises
    ------
    ValueError
        A name is unknown, a buffer would lie in itself, or the alignments, pinned offsets, pools or
        conflicts of joined buffers contradict each other.
    """
    originals = list(buffers)
    by_name = {buffer.name: buffer for buffer in originals}
    if len(by_name) < len(originals):
        raise ValueError("two buffers have one name; give each a name of its own")
    members = {name: _host_of(name, by_name, within) for name in by_name}
    for name in within:
        if name not in by_name:
            raise ValueError(f'"{name}", which is to lie in another buffer, is unknown')
    groups: dict[str, dict[str, int]] = {}
    for name, (host, start) in members.items():
        groups.setdefault(host, {})[name] = start
    joined = {name for group in groups.values() if len(group) > 1 for name in group}
    return Colocation(
        tuple(
            _joined(by_name[host], by_name, starts, members, joined)
            for host, starts in groups.items()
        ),
        members,
    )


def _host_of(
    name: str, by_name: Mapping[str, Buffer], within: Mapping[str, tuple[str, int]]
) -> tuple[str, int]:
    """Return the outermost buffer around `name`, and the first byte of `name` in it."""
    host, total = name, 0
    seen = {name}
    while host in within:
        inner, (host, start) = host, within[host]
        if host not in by_name:
            raise ValueError(f'buffer "{inner}" is to lie in the unknown buffer "{host}"')
        if start < 0:
            raise ValueError(f'buffer "{inner}" is to start {-start} bytes before "{host}"')
        if host in seen:
            raise ValueError(f'buffer "{inner}" is to lie in "{host}", which lies in it')
        seen.add(host)
        total += start
    return host, total


def _joined(
    host: Buffer,
    by_name: Mapping[str, Buffer],
    starts: Mapping[str, int],
    members: Mapping[str, tuple[str, int]],
    joined: Collection[str],
) -> Buffer:
    """Return the container joined with its members.

    `starts` has the first byte of each member, including the buffer itself. `joined` has the names
    of all joined buffers.
    """
    parts = [by_name[name] for name in starts]
    conflicts = []
    for part in parts:
        start = starts[part.name]
        if start % part.alignment:
            raise ValueError(
                f'buffer "{part.name}" starts {start} bytes into "{host.name}", which is no '
                f"multiple of its alignment, {part.alignment}"
            )
        for name in part.conflicts:
            other, at = members.get(name, (name, 0))
            if other != host.name:
                conflicts.append(other)
            elif start < at + by_name[name].size and at < start + part.size:
                raise ValueError(
                    f'buffers "{part.name}" and "{name}" conflict, but share bytes in "{host.name}"'
                )
    return Buffer(
        host.name,
        max(starts[part.name] + part.size for part in parts),
        live=_union(live for part in parts for live in part.live),
        alignment=lcm(*(part.alignment for part in parts)),
        pools=_common_pools(host, parts),
        offset=_pinned(host, parts, starts),
        conflicts=tuple(dict.fromkeys(conflicts)),
        overlaps={
            name: distance
            for name, distance in host.overlaps.items()
            if host.name not in joined and name not in joined
        },
    )


def _union(ranges: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
    """Return the union of the ranges, in order."""
    union: list[tuple[int, int]] = []
    for start, stop in sorted(ranges):
        if union and start <= union[-1][1]:
            union[-1] = (union[-1][0], max(union[-1][1], stop))
        else:
            union.append((start, stop))
    return tuple(union)


def _common_pools(host: Buffer, parts: Iterable[Buffer]) -> tuple[str, ...]:
    """Return the pools that all parts allow, in the order of the first part that names any."""
    lists = [part.pools for part in (host, *parts) if part.pools]
    if not lists:
        return ()
    common = tuple(pool for pool in lists[0] if all(pool in pools for pools in lists))
    if not common:
        raise ValueError(f'there is no pool that may hold all that lies in buffer "{host.name}"')
    return common


def _pinned(host: Buffer, parts: Iterable[Buffer], starts: Mapping[str, int]) -> int | None:
    """Return the pinned offset of the whole that follows from the pins of its parts."""
    pins = {part.offset - starts[part.name]: part for part in parts if part.offset is not None}
    if len(pins) > 1:
        names = " and ".join(f'"{part.name}"' for part in [*pins.values()][:2])
        raise ValueError(
            f'the pinned offsets of {names} contradict where they lie in "{host.name}"'
        )
    return next(iter(pins), None)
