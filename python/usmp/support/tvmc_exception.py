"""Base classes of errors for the user, with the names of TVM's tvmc."""


class TVMCException(Exception):
    """The base of all errors for the user in loading, compiling and running a model."""


class TVMCImportError(TVMCException):
    """The Python package that reads the file is missing; the message says how to install it."""
