"""Model files to Relax modules, one package a format."""

from typing import TYPE_CHECKING, NoReturn

# Waits while another thread loads TVM; an import of one of its modules would not wait.
import tvm  # noqa: F401

from usmp.frontend.model_file import import_model
from usmp.tvm018 import row_of_attribute

__all__ = ["import_model"]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> NoReturn:
        """Raise, with the reason for names of `tvm.relay.frontend`."""
        row = None if name.startswith("_") else row_of_attribute(name)
        reason = f": {row.sentence()}" if row else ""
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{reason}")
