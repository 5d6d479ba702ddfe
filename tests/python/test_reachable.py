from __future__ import annotations

from usmp.support.reachable import reachable


def test_each_node_is_found_once_the_nearest_first():
    following = {"a": "cb", "b": "da", "c": "d", "d": "", "e": "a"}
    assert reachable("a", following.__getitem__) == ["a", "c", "b", "d"]
    assert reachable("ea", following.__getitem__) == ["e", "a", "c", "b", "d"]
    assert reachable("", following.__getitem__) == []
