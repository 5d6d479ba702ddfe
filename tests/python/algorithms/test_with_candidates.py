from usmp.algorithms.with_candidates import Candidates
from usmp.objects import BufferInfo, WorkspacePoolInfo

FAST, SLOW = WorkspacePoolInfo("fast", ["c"]), WorkspacePoolInfo("slow", ["c"])


def test_copies_conflict_and_overlap_among_each_other():
    a, b, c, outside = (BufferInfo(name, 4, [FAST, SLOW]) for name in ("a", "b", "c", "outside"))
    a.set_conflicts([b, outside])
    b.set_conflicts([a])
    c.set_overlaps({a: 3, outside: 2})
    candidates = Candidates([a, b, c])
    copies = candidates.copies([[FAST], [SLOW], [SLOW, FAST]])
    assert [str(copy.name_hint) for copy in copies] == ["a", "b", "c"]
    pools = [[pool.pool_name for pool in copy.pool_candidates] for copy in copies]
    assert pools == [["fast"], ["slow"], ["slow", "fast"]]
    assert [list(copy.conflicts) for copy in copies] == [[copies[1]], [copies[0]], []]
    assert [dict(copy.overlaps.items()) for copy in copies] == [{}, {}, {copies[0]: 3}]
    assert not set(copies).intersection([a, b, c])
    others = candidates.copies([[FAST]] * 3)
    assert others[1].conflicts[0].same_as(others[0])
