"""Build and run the emitted C on this host; run modules of changing sizes in one buffer."""

from usmp.runtime.archive import Archive, load_archive
from usmp.runtime.c_compiler import BuildError
from usmp.runtime.host import HostEntry, HostModule
from usmp.runtime.managed_memory import CapacityError
from usmp.runtime.memory_planner import MemoryPlanner
from usmp.runtime.memory_planner_growth import GrowthPolicy
from usmp.runtime.memory_planner_module import ManagedModule, compile_managed
from usmp.runtime.memory_planner_plan import StorageGroup
from usmp.runtime.operator_profile import NotProfiled, OperatorProfile, Profile
from usmp.runtime.profile_host import HostProfiler, profile_on_host
from usmp.runtime.read_tar import ArchiveError

__all__ = [
    "Archive",
    "ArchiveError",
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
    "StorageGroup",
    "compile_managed",
    "load_archive",
    "profile_on_host",
]
