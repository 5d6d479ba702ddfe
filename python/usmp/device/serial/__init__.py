"""The host side of the serial line to a device with a model."""
