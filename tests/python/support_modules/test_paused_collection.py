"""Python looks for garbage after the pause as it did before."""

from __future__ import annotations

import gc

import pytest

from usmp.support.process.paused_collection import paused_collection


@pytest.mark.parametrize("is_enabled", [True, False])
def test_what_was_before_is_again(is_enabled):
    was_enabled = gc.isenabled()
    try:
        (gc.enable if is_enabled else gc.disable)()
        with pytest.raises(KeyError), paused_collection():
            assert not gc.isenabled()
            raise KeyError
        assert gc.isenabled() == is_enabled
    finally:
        (gc.enable if was_enabled else gc.disable)()
