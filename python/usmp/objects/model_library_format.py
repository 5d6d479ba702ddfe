"""What writers and readers of Model Library Format archives must agree on."""

from __future__ import annotations

FORMAT_VERSION = 7
"""TVM 0.18's."""

METADATA_FILE = "metadata.json"
