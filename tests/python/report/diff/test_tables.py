"""The tables of `tvmc diff`."""

from __future__ import annotations

from usmp.report.diff.plan_diff import CHANGED, RENAMED, Change, ItemDiff
from usmp.report.diff.tables import _buffers


def test_buffers_have_their_numbers_at_the_right_and_their_names_as_they_are():
    moved = {"size_bytes": Change(8, 16), "offset": Change(0, 64), "pool": Change("a", "a")}
    elsewhere = {**moved, "pool": Change("a", "b")}
    renamed = ItemDiff(("m", "y", "workspace"), RENAMED, elsewhere, ("m", "x", "workspace"))
    table = _buffers([ItemDiff(("m", "x", "workspace"), CHANGED, moved), renamed])
    headings = dict(enumerate(table.headings))
    assert [headings[column] for column in sorted(table.numbers)] == ["bytes", "change", "offset"]
    assert [headings[column] for column in sorted(table.names)] == ["buffer", "what", "offset"]
    first, second = (dict(zip(table.headings, row, strict=True)) for row in table.rows)
    assert (first["buffer"], first["kind"], first["what"]) == ("x", "workspace", "grew, moved")
    assert second["what"].startswith("renamed, was x")
    assert "a+0" in second["offset"] and "b+64" in second["offset"] and "a" not in first["offset"]
