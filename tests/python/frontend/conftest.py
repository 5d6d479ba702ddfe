"""How models are built whose import is the subject."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tvm.ir.transform import PassContext


@pytest.fixture(autouse=True)
def _one_after_the_other() -> Iterator[None]:
    """Operators compute the same, and the search for what runs interleaved takes most of a build.

    Tests with options of their own do without this one.
    """
    with PassContext(config={"tir.usmp.streaming": False}):
        yield
