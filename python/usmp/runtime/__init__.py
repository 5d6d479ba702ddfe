"""Build and run the emitted C on this host."""

from usmp.runtime.archive import Archive, load_archive
from usmp.runtime.arena import ArenaExhausted
from usmp.runtime.c_compiler import BuildError
from usmp.runtime.host import HostEntry, HostModule
from usmp.runtime.operator_profile import NotProfiled, OperatorProfile, Profile
from usmp.runtime.profile_host import HostProfiler, profile_on_host
from usmp.runtime.read_tar import ArchiveError

__all__ = [
    "Archive",
    "ArchiveError",
    "ArenaExhausted",
    "BuildError",
    "HostEntry",
    "HostModule",
    "HostProfiler",
    "NotProfiled",
    "OperatorProfile",
    "Profile",
    "load_archive",
    "profile_on_host",
]
