"""Warnings that are for the user: something in a model file that is left out."""


class ModelWarning(UserWarning):
    """The model is read, and the message says what of it is not."""
