"""Objects that own what exists once are refused by copy and pickle."""

import copy
import pickle

import pytest

from usmp.analysis.memory.distances.safe_distance import SafeOverlap
from usmp.device.serial.port import SerialLine
from usmp.device.serial.session import Session
from usmp.runtime import HostModule, HostProfiler, ManagedModule, MemoryPlanner
from usmp.runtime.reference import ReferenceModule
from usmp.support.not_copied import NotCopied

OWNERS = {
    HostModule,
    HostProfiler,
    ManagedModule,
    MemoryPlanner,
    ReferenceModule,
    SafeOverlap,
    SerialLine,
    Session,
}


def test_these_are_all():
    assert set(NotCopied.__subclasses__()) == OWNERS


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, pickle.dumps])
def test_none_is_copied(copied):
    for owner in OWNERS:
        it = object.__new__(owner)
        if (owner, copied) == (ManagedModule, copy.copy):
            assert copied(it) is it
            continue
        refused = f"^{owner.__name__} cannot be copied or pickled, because"
        with pytest.raises(TypeError, match=refused):
            copied(it)
