"""Models in a debug build: an independent proof that nothing reads what is dead."""

from __future__ import annotations

from dataclasses import replace

import usmp
from usmp.transform import PoisonDeadBytes


def poisoned(factory: usmp.AOTExecutorFactoryModule) -> usmp.AOTExecutorFactoryModule:
    """The same model, whose C overwrites dead memory; its loops do so over `poisoned`."""
    return replace(factory, ir_mod=PoisonDeadBytes()(factory.ir_mod))
