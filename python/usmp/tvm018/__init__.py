"""The names of TVM 0.18 that are accepted, mapped to others or refused, and why.

Data that the command line, the Python functions and the documents read. Names that mean what they
meant in TVM 0.18 stand in no table.
"""

from usmp.tvm018.compile_flags import COMPILE_FLAGS
from usmp.tvm018.old_name import ACCEPTED, MAPPED, REFUSED, OldName, find
from usmp.tvm018.run_flags import RUN_FLAGS
from usmp.tvm018.tvmc_python import TVMC_COMPILE, TVMC_LOAD, TVMC_NAMES, TVMC_RUN

SECTIONS: dict[str, tuple[OldName, ...]] = {
    "tvmc compile": COMPILE_FLAGS,
    "tvmc run": RUN_FLAGS,
    "tvmc.load": TVMC_LOAD,
    "tvmc.compile": TVMC_COMPILE,
    "tvmc.run": TVMC_RUN,
    "usmp.driver.tvmc": TVMC_NAMES,
}
"""All rows, by where users write the names."""

__all__ = [
    "ACCEPTED",
    "COMPILE_FLAGS",
    "MAPPED",
    "REFUSED",
    "RUN_FLAGS",
    "SECTIONS",
    "TVMC_COMPILE",
    "TVMC_LOAD",
    "TVMC_NAMES",
    "TVMC_RUN",
    "OldName",
    "find",
]
