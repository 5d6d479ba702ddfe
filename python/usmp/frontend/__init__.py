"""Import of model files as Relax modules, with one package for each format."""

from typing import TYPE_CHECKING, NoReturn

# Import `tvm` first, because it waits while another thread loads TVM, unlike its submodules.
import tvm  # noqa: F401

from usmp.frontend.model_file import import_model
from usmp.tvm018 import row_of_attribute

__all__ = ["import_model"]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> NoReturn:
        """Raise AttributeError; for names of `tvm.relay.frontend`, with a reason."""
        row = None if name.startswith("_") else row_of_attribute(name)
        reason = f": {row.sentence()}" if row else ""
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{reason}")
