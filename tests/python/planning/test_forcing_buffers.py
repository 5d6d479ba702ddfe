"""Sets of buffers that force a bound."""

from __future__ import annotations

from usmp.analysis.buffer_extraction import set_conflicts
from usmp.objects import BufferInfo, LiveRange, WorkspacePoolInfo
from usmp.planning.forcing_buffers import AT_ONE_TIME, AT_SEVERAL_TIMES, forcing_buffers
from usmp.planning.peak_position import peak_position
from usmp.planning.peak_without import PeakWithout, peak_without

POOL = WorkspacePoolInfo("sram", ["c"])


def buffers(*rows):
    """Buffers of (name, bytes, start, stop), with the conflicts of their live ranges."""
    made = [BufferInfo(n, size, [POOL], 1, [LiveRange(a, b)]) for n, size, a, b in rows]
    set_conflicts(made)
    return made


CHAIN = (("a", 30, 0, 2), ("b", 50, 1, 3), ("c", 40, 2, 4), ("d", 5, 1, 4))


def test_the_smallest_that_the_others_need_not_are_left_out():
    forced = forcing_buffers(buffers(*CHAIN), 90)
    assert (forced.kind, [b.name_hint for b in forced.buffers]) == (AT_ONE_TIME, ["b", "c"])
    assert forced.is_irreducible


def test_an_overlap_is_taken_off():
    made = buffers(*CHAIN)
    made[2].set_overlaps({made[1]: 10})
    # b and c need 60 now, a and b 80, with d 85.
    forced = forcing_buffers(made, 85)
    assert [b.name_hint for b in forced.buffers] == ["a", "b", "d"]


def test_conflicts_at_several_times():
    """Any two of three are live together, never all: they still need what all of them take."""
    made = [
        BufferInfo(name, 10, [POOL], 1, [LiveRange(*span) for span in spans])
        for name, spans in (("a", [(0, 2)]), ("b", [(1, 3)]), ("c", [(2, 3), (0, 1)]))
    ]
    set_conflicts(made)
    forced = forcing_buffers(made, 30)
    assert (forced.kind, len(forced.buffers)) == (AT_SEVERAL_TIMES, 3)


def test_what_is_not_known_is_not_said():
    assert forcing_buffers(buffers(*CHAIN), 96) is None
    assert forcing_buffers(buffers(*CHAIN), 0) is None


def test_the_peak_without_an_operator():
    """At position 2 b, c and d take 95; without it, a, b and d are the most."""
    made = buffers(*CHAIN)
    assert peak_without(made, "sram", 2, 3) == PeakWithout(85, 1, True)
    assert peak_without(made, "sram", 0, 4) == PeakWithout(0, None, True)


def test_the_time_of_the_peak_is_the_one_that_needs_it():
    """c lies on top because of b at position 2; at 3, with the larger e, it needs less."""
    made = buffers(("b", 50, 2, 3), ("c", 40, 2, 4), ("e", 45, 3, 4))
    assert peak_position(made, [50, 90, 45]) == 2
