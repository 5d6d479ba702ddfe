"""The files that test a model on a device."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files

from usmp.device.c_names import has_hooks, read_only_inputs
from usmp.device.device_source import print_device, print_device_header, print_serial
from usmp.device.digests import code_digest, interface_digest
from usmp.device.golden_runs import GoldenRun
from usmp.device.memory_source import print_memory, print_serial_memory
from usmp.device.self_test_source import print_self_test
from usmp.device.testable_module import check_testable
from usmp.runtime.archived.module import ArchivedModule

_FILES = (
    "usmp_device.h",
    *(f"usmp_self_test.{ending}" for ending in "ch"),
    *(f"usmp_serial.{ending}" for ending in "ch"),
)
"""Files that are equal for all models."""

_OF_A_MODEL = re.compile(r"tvmgen_.+_(device|self_test|serial)(_memory)?\.[ch]")
"""Names of files of a model."""


def device_files(
    module: ArchivedModule, code: Mapping[str, bytes], runs: Sequence[GoldenRun]
) -> dict[str, bytes]:
    """Return the self test and the serial runner of a model in C99, by file name.

    Parameters
    ----------
    module
        module of an archive.
    code
        header, sources and object files of the module by path.
    runs
        runs that the self test repeats.

    Raises
    ------
    NotTestable
        the model cannot be tested on a device.
    """
    check_testable(module)
    prefix = module.c_prefix
    digests = (interface_digest(module), code_digest(code))
    texts = {
        f"{prefix}_device.h": print_device_header(module),
        f"{prefix}_device.c": print_device(module, *digests),
        f"{prefix}_device_memory.c": print_memory(module),
        f"{prefix}_self_test.c": print_self_test(module, runs),
        f"{prefix}_serial.c": print_serial(module, has_hooks(module)),
    }
    if any(read_only_inputs(entry) for entry in module.entries.values()):
        texts[f"{prefix}_serial_memory.c"] = print_serial_memory(module)
    common = files("usmp.device").joinpath("files")
    contents = {name: common.joinpath(name).read_bytes() for name in _FILES}
    return contents | {name: text.encode() for name, text in texts.items()}


def other_tests(names: Iterable[str], own: Mapping[str, bytes]) -> list[str]:
    """Return the names that are files of other tests, sorted.

    Parameters
    ----------
    names
        names of the files of a folder.
    own
        files of the test that is in the folder now, as `device_files` returns.
    """
    return sorted(name for name in names if _OF_A_MODEL.fullmatch(name) and name not in own)
