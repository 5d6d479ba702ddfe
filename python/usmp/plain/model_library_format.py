"""Names and numbers that writers and readers of Model Library Format archives share."""

from __future__ import annotations

CPU_DEVICE = 1
"""DLPack's number of the CPU, which runs the code unless an accelerator does."""

FORMAT_VERSION = 7
"""The version of the format that TVM 0.18 wrote."""

METADATA_FILE = "metadata.json"

LARGEST_ARCHIVE_BYTES = 2**32

ARENA_PATHS = ("codegen/host/include/usmp_arena.h", "codegen/host/src/usmp_arena.c")
"""Files of the allocator that all models of an archive share, if they allocate at run time."""


def reference_file(module_part: str) -> str:
    """Return the path of the reference build of a module in its archive.

    Parameters
    ----------
    module_part
        name of the module as a part of a C identifier.
    """
    return f"reference/{module_part}.tar.bz2"


def largest_reference(compressed_bytes: int) -> int:
    """Return the size limit in bytes of a decompressed reference build of `compressed_bytes`.

    The ratio of 32 is ample, because C with random weights compresses about 6 to 1.
    """
    return min(2**26 + 32 * compressed_bytes, LARGEST_ARCHIVE_BYTES)
