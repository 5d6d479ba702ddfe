"""The base of errors that are for the user, by the names that TVM's tvmc had for them."""


class TVMCException(Exception):
    """An error that is for the user: `except` it to catch all that loading, compiling and running a
    model can report."""


class TVMCImportError(TVMCException):
    """A Python package is missing that reads the file; the message says how to install it."""
