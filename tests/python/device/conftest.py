"""The fixtures of the command line, for commands that talk to devices."""

from driver.conftest import refused, tvmc

__all__ = ["refused", "tvmc"]
