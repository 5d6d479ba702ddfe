"""Helpers that know nothing of compilers: texts, folders, signals, errors."""
