"""Warnings about names of TVM 0.18 that are still accepted."""


class CompatibilityNote(UserWarning):
    """A name of TVM 0.18 has no effect, or has a new name."""


class CompatibilityWarning(CompatibilityNote):
    """A name of TVM 0.18 has another meaning here."""
