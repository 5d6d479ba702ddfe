"""Answers that are found once."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

_Answer = TypeVar("_Answer")


class Found(dict[Hashable, Any]):
    """Answers to questions, each found when it is first asked."""

    def once(self, what: Hashable, find: Callable[[], _Answer]) -> _Answer:
        """What `find` returns; found once for the same question.

        Parameters
        ----------
        what
            the question.
        """
        if what not in self:
            self[what] = find()
        found: _Answer = self[what]
        return found
