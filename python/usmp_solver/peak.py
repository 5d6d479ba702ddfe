"""The buffers that determine the peak of a pool."""

from __future__ import annotations

from usmp_solver.solution import Solution


def live_at_peak(solution: Solution, pool: str) -> list[int]:
    """Return the buffers that are live in the pool while its highest byte is in use.

    If there are several such times, take the one with the most live bytes. Buffers are row numbers,
    in order of offset.
    """
    problem = solution.problem
    number = [known.name for known in problem.pools].index(pool)
    held = [b for b in (solution.pools == number).nonzero()[0].tolist() if problem.sizes[b]]
    changes: dict[int, list[tuple[int, int]]] = {}
    for buffer in held:
        ranges = slice(problem.live_first[buffer], problem.live_first[buffer + 1])
        for times, change in ((problem.live_starts, 1), (problem.live_stops, -1)):
            for time in times[ranges].tolist():
                changes.setdefault(time, []).append((buffer, change))
    peak = solution.peaks[pool]
    open_ranges: dict[int, int] = {}
    best: list[int] = []
    most_bytes = 0
    for time in sorted(changes):
        for buffer, change in changes[time]:
            open_ranges[buffer] = open_ranges.get(buffer, 0) + change
        live = [buffer for buffer, count in open_ranges.items() if count > 0]
        is_peak = any(solution.offsets[b] + problem.sizes[b] == peak for b in live)
        live_bytes = sum(int(problem.sizes[b]) for b in live)
        if is_peak and live_bytes > most_bytes:
            best, most_bytes = live, live_bytes
    return sorted(best, key=lambda b: (solution.offsets[b], problem.names[b]))
