"""Model files to Relax modules, one package a format."""

from usmp.frontend.model_file import import_model

__all__ = ["import_model"]
