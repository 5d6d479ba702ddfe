"""Model files to Relax modules, one package a format."""

# Waits while another thread loads TVM; an import of one of its modules would not wait.
import tvm  # noqa: F401

from usmp.frontend.model_file import import_model

__all__ = ["import_model"]
