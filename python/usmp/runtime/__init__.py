"""Build and run the emitted C on this host; run modules of changing sizes in one buffer.

Archives are read without TVM. Names of modules that need TVM are imported at their first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from usmp.runtime.archive import Archive, load_archive
from usmp.runtime.archived.read_tar import ArchiveError
from usmp.runtime.c_compiler import BuildError

if TYPE_CHECKING:
    from usmp.runtime.arena import ArenaExhausted
    from usmp.runtime.host import HostEntry, HostModule, RunError
    from usmp.runtime.operator_profile import NotProfiled, OperatorProfile, Profile
    from usmp.runtime.planner.growth import GrowthPolicy
    from usmp.runtime.planner.managed_memory import CapacityError
    from usmp.runtime.planner.memory_planner import MemoryPlanner
    from usmp.runtime.planner.module import ManagedModule, compile_managed
    from usmp.runtime.planner.plan import StorageGroup
    from usmp.runtime.profile_host import HostProfiler, profile_on_host

__all__ = [
    "Archive",
    "ArchiveError",
    "ArenaExhausted",
    "BuildError",
    "CapacityError",
    "GrowthPolicy",
    "HostEntry",
    "HostModule",
    "HostProfiler",
    "ManagedModule",
    "MemoryPlanner",
    "NotProfiled",
    "OperatorProfile",
    "Profile",
    "RunError",
    "StorageGroup",
    "compile_managed",
    "load_archive",
    "profile_on_host",
]

_LATER = {
    "ArenaExhausted": "arena",
    "CapacityError": "planner.managed_memory",
    "GrowthPolicy": "planner.growth",
    "HostEntry": "host",
    "HostModule": "host",
    "HostProfiler": "profile_host",
    "ManagedModule": "planner.module",
    "MemoryPlanner": "planner.memory_planner",
    "NotProfiled": "operator_profile",
    "OperatorProfile": "operator_profile",
    "Profile": "operator_profile",
    "RunError": "host",
    "StorageGroup": "planner.plan",
    "compile_managed": "planner.module",
    "profile_on_host": "profile_host",
}
"""Names that are imported at their first use, and their modules."""

# Hide the function from type checkers, which would accept any name with it.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Import and return a name of `_LATER` at its first use."""
        if name not in _LATER:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        from importlib import import_module

        value = getattr(import_module(f"{__name__}.{_LATER[name]}"), name)
        globals()[name] = value
        return value
