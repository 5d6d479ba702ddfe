"""What writers and readers of Model Library Format archives must agree on."""

from __future__ import annotations

CPU_DEVICE = 1
"""DLPack's number of the device that runs the code, unless an accelerator does."""

FORMAT_VERSION = 7
"""TVM 0.18's."""

METADATA_FILE = "metadata.json"

LARGEST_ARCHIVE_BYTES = 2**32

ARENA_PATHS = ("codegen/host/include/usmp_arena.h", "codegen/host/src/usmp_arena.c")
"""Where the allocator of models is that allocate while they run; all of an archive share it."""


def reference_file(module_part: str) -> str:
    """Return the path of the reference build of a module in its archive.

    Parameters
    ----------
    module_part
        the name of the module as a part of a C identifier.
    """
    return f"reference/{module_part}.tar.bz2"


def largest_reference(compressed_bytes: int) -> int:
    """Return how many bytes a reference build of `compressed_bytes` may have when decompressed.

    C with random weights has about 6 bytes for each compressed one.
    """
    return min(2**26 + 32 * compressed_bytes, LARGEST_ARCHIVE_BYTES)
