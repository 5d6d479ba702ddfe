"""Warnings about names of TVM 0.18 that are still accepted."""


class CompatibilityNote(UserWarning):
    """A name of TVM 0.18 changes nothing, or has another name now."""


class CompatibilityWarning(CompatibilityNote):
    """A name of TVM 0.18 means something else here."""
