"""Models with buffers of unbounded size, from TIR to runs on this host."""

import pytest

from support.markers import driver  # noqa: F401

pytestmark = pytest.mark.cc
