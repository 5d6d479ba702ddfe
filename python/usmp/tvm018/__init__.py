"""Tables of TVM 0.18's names that are accepted, mapped to others or refused, with reasons.

The command line, the Python functions and the documents read them. Names with an unchanged meaning
are in no table.
"""

from usmp.tvm018 import compile_flags
from usmp.tvm018.c_names import C_INTERFACE
from usmp.tvm018.commands import MICRO, MODULES, TUNE
from usmp.tvm018.executor_runtime import EXECUTOR, RUNTIME
from usmp.tvm018.global_functions import GLOBAL_FUNCTIONS
from usmp.tvm018.import_paths import IMPORT_PATHS
from usmp.tvm018.main_flags import MAIN_FLAGS
from usmp.tvm018.model_formats import MODEL_FILES
from usmp.tvm018.old_name import ACCEPTED, MAPPED, REFUSED, OldName, find
from usmp.tvm018.pass_options import (
    BESIDE_ENABLE,
    DISABLED_PASSES,
    ENABLE,
    OPT_LEVELS,
    PASS_CONFIGS,
)
from usmp.tvm018.python_names import FACTORY, PYTHON_SECTIONS, row_of_attribute
from usmp.tvm018.run_flags import RUN_FLAGS
from usmp.tvm018.targets import (
    TARGET_FLAGS,
    TARGET_NAMES,
    TARGET_OPTION_FLAGS,
    TARGET_OPTION_ROWS,
)
from usmp.tvm018.tvmc_python import TVMC_COMPILE, TVMC_LOAD, TVMC_NAMES, TVMC_RUN

COMPILE_FLAGS: tuple[OldName, ...] = (*compile_flags.COMPILE_FLAGS, *TARGET_FLAGS)
"""Flags of `tvmc compile` that the command line replaces or refuses."""

SECTIONS: dict[str, tuple[OldName, ...]] = {
    "tvmc": MAIN_FLAGS,
    "tvmc compile": (*COMPILE_FLAGS, *compile_flags.UNSHOWN_FLAGS, *TARGET_OPTION_FLAGS),
    "tvmc run": RUN_FLAGS,
    "tvmc micro": MICRO,
    "tvmc tune": TUNE,
    "python -m": MODULES,
    "Executor": EXECUTOR,
    "Runtime": RUNTIME,
    **PYTHON_SECTIONS,
    "imports of Python": IMPORT_PATHS,
    "global functions": GLOBAL_FUNCTIONS,
    "C": C_INTERFACE,
    "model files": MODEL_FILES,
    "targets": TARGET_NAMES,
    **{f"target {name}": rows for name, rows in TARGET_OPTION_ROWS.items()},
    "--pass-config and PassContext(config)": PASS_CONFIGS,
    f"beside {ENABLE}=0": BESIDE_ENABLE,
    "PassContext(disabled_pass, required_pass)": DISABLED_PASSES,
    "PassContext(opt_level)": OPT_LEVELS,
    "tvmc.load": TVMC_LOAD,
    "tvmc.compile": TVMC_COMPILE,
    "tvmc.run": TVMC_RUN,
    "usmp.driver.tvmc": TVMC_NAMES,
}
"""All rows, by where users write the names."""

__all__ = [
    "ACCEPTED",
    "COMPILE_FLAGS",
    "C_INTERFACE",
    "DISABLED_PASSES",
    "EXECUTOR",
    "FACTORY",
    "GLOBAL_FUNCTIONS",
    "IMPORT_PATHS",
    "MAIN_FLAGS",
    "MAPPED",
    "MODEL_FILES",
    "OPT_LEVELS",
    "PASS_CONFIGS",
    "REFUSED",
    "RUNTIME",
    "RUN_FLAGS",
    "SECTIONS",
    "TARGET_NAMES",
    "TARGET_OPTION_ROWS",
    "TVMC_COMPILE",
    "TVMC_LOAD",
    "TVMC_NAMES",
    "TVMC_RUN",
    "OldName",
    "find",
    "row_of_attribute",
]
