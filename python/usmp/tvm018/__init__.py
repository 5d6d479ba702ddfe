"""The names of TVM 0.18 that are accepted, mapped to others or refused, and why.

Data that the command line, the Python functions and the documents read. Names that mean what they
meant in TVM 0.18 stand in no table.
"""

from usmp.tvm018.compile_flags import COMPILE_FLAGS
from usmp.tvm018.old_name import ACCEPTED, MAPPED, REFUSED, OldName, find
from usmp.tvm018.pass_options import DISABLED_PASSES, OPT_LEVELS, PASS_CONFIGS
from usmp.tvm018.run_flags import RUN_FLAGS

SECTIONS: dict[str, tuple[OldName, ...]] = {
    "tvmc compile": COMPILE_FLAGS,
    "tvmc run": RUN_FLAGS,
    "--pass-config and PassContext(config)": PASS_CONFIGS,
    "PassContext(disabled_pass, required_pass)": DISABLED_PASSES,
    "PassContext(opt_level)": OPT_LEVELS,
}
"""All rows, by where users write the names."""

__all__ = [
    "ACCEPTED",
    "COMPILE_FLAGS",
    "DISABLED_PASSES",
    "MAPPED",
    "OPT_LEVELS",
    "PASS_CONFIGS",
    "REFUSED",
    "RUN_FLAGS",
    "SECTIONS",
    "OldName",
    "find",
]
