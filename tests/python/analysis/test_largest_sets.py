from itertools import combinations

import pytest

from usmp.analysis.largest_sets import MOST_SETS, largest_sets


@pytest.mark.parametrize(("count", "size", "sets"), [(300, 1, 1), (9, 3, 27), (90, 3, MOST_SETS)])
def test_many_entries_that_may_run_at_once_take_no_time(count, size, sets):
    """Of each few entries one runs: there are as many sets as there can be."""
    pairs = [(i, j) for i, j in combinations(range(count), 2) if i // size != j // size]
    found = largest_sets(count, pairs)
    assert len(found) == len(set(found)) == sets
    for together in found:
        assert [number // size for number in together] == list(range(count // size))
