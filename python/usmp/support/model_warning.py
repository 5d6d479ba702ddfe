"""Warnings for the user about parts of a model file that are left out."""


class ModelWarning(UserWarning):
    """The model is imported without the parts that the message names."""
