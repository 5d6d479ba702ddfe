"""The names of TVM 0.18 that are accepted, mapped to others or refused, and why.

Data that the command line, the Python functions and the documents read. Names that mean what they
meant in TVM 0.18 stand in no table.
"""

from usmp.tvm018.compile_flags import COMPILE_FLAGS
from usmp.tvm018.main_flags import MAIN_FLAGS
from usmp.tvm018.model_formats import MODEL_FILES
from usmp.tvm018.old_name import ACCEPTED, MAPPED, REFUSED, OldName, find
from usmp.tvm018.run_flags import RUN_FLAGS

SECTIONS: dict[str, tuple[OldName, ...]] = {
    "tvmc": MAIN_FLAGS,
    "tvmc compile": COMPILE_FLAGS,
    "tvmc run": RUN_FLAGS,
    "model files": MODEL_FILES,
}
"""All rows, by where users write the names."""

__all__ = [
    "ACCEPTED",
    "COMPILE_FLAGS",
    "MAIN_FLAGS",
    "MAPPED",
    "MODEL_FILES",
    "REFUSED",
    "RUN_FLAGS",
    "SECTIONS",
    "OldName",
    "find",
]
