"""The host's end of a serial line with a model at the other end."""
