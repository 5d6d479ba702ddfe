"""What to do where memory is short; imports nothing, since an import may fail then."""

MEMORY_ADVICE = (
    "close other programs, raise the limit (`ulimit -v` shows it), "
    "or use a machine with more memory"
)
