"""The terminal side of commands: help, progress, errors, warnings, completion."""
