"""Model files to Relax modules, one package a format."""

import tvm  # noqa: F401  # waits for a thread that loads it; modules of tvm would not

from usmp.frontend.model_file import import_model

__all__ = ["import_model"]
