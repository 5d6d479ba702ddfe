"""Draw the memory map of the digits model for the README.

Write docs/images/memory-map-light.svg and docs/images/memory-map-dark.svg: the workspace that
`tvmc plan examples/digits/digits_int8.tflite --workspace-io --report map.svg` draws first, in two
themes.

    python scripts/draw_memory_map.py
"""

from __future__ import annotations

from pathlib import Path

import tvm

import usmp
from usmp.report import map_of_metadata
from usmp.report.memory_maps import map_svg

ROOT = Path(__file__).resolve().parents[1]
IMAGES = ROOT / "docs/images"


def drawings() -> dict[str, str]:
    """Return the text of each file, by its name."""
    model = ROOT / "examples/digits/digits_int8.tflite"
    with tvm.transform.PassContext(config={"tir.usmp.use_workspace_io": True}):
        factory = usmp.build(model)
    drawn = map_of_metadata(factory.metadata["modules"][factory.module_name])
    return {
        f"memory-map-{theme}.svg": map_svg(drawn, theme, drawn.pools[:1]) + "\n"
        for theme in ("light", "dark")
    }


def main() -> None:
    """Write both files."""
    for name, text in drawings().items():
        (IMAGES / name).write_text(text)


if __name__ == "__main__":
    main()
