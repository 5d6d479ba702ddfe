"""A cache of results."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

_Answer = TypeVar("_Answer")


class Found(dict[Hashable, Any]):
    """A cache of results by key, each computed on first use."""

    def once(self, what: Hashable, find: Callable[[], _Answer]) -> _Answer:
        """Return the result of `find`, computed once for each key `what`."""
        if what not in self:
            self[what] = find()
        result: _Answer = self[what]
        return result
