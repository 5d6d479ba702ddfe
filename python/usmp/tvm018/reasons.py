"""Reasons that several places give: flags, and the objects and functions of Python."""

from __future__ import annotations

ONLY_AOT = "aot is the only executor, and needs no graph JSON: leave {name} out"
"""Why there is no graph executor; `{name}` is the flag or the argument."""

CPP_RUNTIME = "TVM's C++ runtime calls packed functions only: add {packed}, or leave {name} out"
"""Why the C++ runtime needs the packed interface; `{packed}` is how to ask for it."""

PACKED_NEEDS_CPP = (
    "packed functions are called by TVM's C++ runtime, not by the C runtime: leave {name} out, or "
    "write {interface}"
)
"""Why the packed interface cannot have the C runtime; `{interface}` is how to ask for the other."""

NO_TABLE = "C calls functions by their names, and there is no table of them"

LINKED = "constants are part of the code in any case"
