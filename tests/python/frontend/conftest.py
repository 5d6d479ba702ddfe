"""How models are built whose import is the subject."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tvm.ir.transform import PassContext

from support import levels


@pytest.fixture(autouse=True)
def _one_after_the_other() -> Iterator[None]:
    """Operators compute the same, and the search for what runs interleaved takes most of a build.

    Tests with options of their own do without this one, and so does a long run.
    """
    with PassContext(disabled_pass=levels.number(["StreamOperators"], [])):
        yield
