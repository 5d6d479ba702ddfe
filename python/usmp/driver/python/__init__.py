"""The Python interface of `tvmc`."""
