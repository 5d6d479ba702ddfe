"""What writers and readers of Model Library Format archives must agree on."""

from __future__ import annotations

CPU_DEVICE = 1
"""DLPack's number of the device that runs the code, unless an accelerator does."""

FORMAT_VERSION = 7
"""TVM 0.18's."""

METADATA_FILE = "metadata.json"

ARENA_PATHS = ("codegen/host/include/usmp_arena.h", "codegen/host/src/usmp_arena.c")
"""Where the allocator of models is that allocate while they run; all of an archive share it."""
