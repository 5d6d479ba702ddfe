"""Unified static memory planning for Apache TVM.

`usmp.build` compiles a Relax module to plain C with every byte of memory planned; importing this
package registers the pass options `tir.usmp.*`.
"""

from __future__ import annotations

import os
import sys

# Not from typing: the command line has to be quick up to where it takes care of signals.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__version__ = "0.1.0"


def _is_command_line() -> bool:
    """Whether this process is `tvmc`, or `python -m usmp`."""
    program = sys.argv[0] if sys.argv else ""
    stem, _ = os.path.splitext(os.path.basename(program))
    return stem == "tvmc" or (program == "-m" and "usmp" in sys.orig_argv)


def __getattr__(name: str) -> Any:
    """What the command line needs of this package comes when it first asks."""
    if not name.startswith("_") and "_public" not in globals():
        from usmp import _public

        globals().update({public: getattr(_public, public) for public in _public.__all__})
    if name in globals():
        return globals()[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


# TVM takes seconds to load: help, wrong usage and completion of the command line do without it.
if TYPE_CHECKING or not _is_command_line():
    from usmp._public import *  # noqa: F403
    from usmp._public import __all__ as __all__
