"""Addresses of a model's states, kept in a file so that new versions of a program find them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from usmp.plain.state_layout_json import (
    LARGEST_BYTES,
    hashed_content,
    layout_document,
    parse_document,
)
from usmp.plain.state_place import StatePlace, check_places, plain_place
from usmp.support.text.plain_text import shown

_HASH_BYTES = 8


@dataclass(frozen=True)
class StateLayout:
    """The places of all states of a module.

    Parameters
    ----------
    module_name
        name of the module, and prefix of its C symbols.
    states
        places of states, sorted by pool and offset.

    Raises
    ------
    ValueError
        a name is empty or repeated, a size does not match shape and type, or a place overlaps
        another, begins below 0, is not aligned, or ends beyond 63 bits.
    """

    module_name: str
    states: tuple[StatePlace, ...]

    def __post_init__(self) -> None:
        # Plain places, because TVM objects with equal fields do not compare equal.
        plain = map(plain_place, self.states)
        ordered = sorted(plain, key=lambda s: (s.pool_name, s.byte_offset, s.name))
        object.__setattr__(self, "states", tuple(ordered))
        if not self.module_name:
            raise ValueError("the name of the module is empty")
        check_places(self.states)

    @property
    def hash(self) -> int:
        """A 64-bit hash of names, types, shapes, places and initial values. Programs with equal
        hashes can take over states from each other."""
        text = json.dumps(hashed_content(self.module_name, self.states), separators=(",", ":"))
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:_HASH_BYTES], "big")

    @property
    def hash_text(self) -> str:
        """The hash as a hexadecimal text."""
        return f"0x{self.hash:0{2 * _HASH_BYTES}x}"

    def document(self) -> dict[str, Any]:
        """Return the layout as JSON values, for `to_json` and `metadata.json`."""
        return layout_document(self.module_name, self.states, self.hash_text)

    def to_json(self) -> str:
        """Return the layout as JSON text."""
        return json.dumps(self.document(), indent=2) + "\n"

    @classmethod
    def from_json(cls, content: str | bytes) -> StateLayout:
        """Return the layout of a text that `to_json` wrote.

        Raises
        ------
        ValueError
            the text is damaged, or of another version; the message says where.
        """
        module_name, states, hash_text = parse_document(content)
        layout = cls(module_name, tuple(states))
        if hash_text != layout.hash_text:
            raise ValueError(
                f"its hash is {shown(hash_text)}, but that of its content is {layout.hash_text}: "
                "it was changed after it was written"
            )
        return layout

    @classmethod
    def read(cls, path: str | Path) -> StateLayout:
        """Return the layout in a file.

        Raises
        ------
        ValueError
            the file is no state layout, or is damaged.
        OSError
            the file cannot be read.
        """
        with open(path, "rb") as file:
            content = file.read(LARGEST_BYTES + 1)
        try:
            return cls.from_json(content)
        except ValueError as error:
            raise ValueError(f"{path}: not a state layout: {error}") from error


def check_module_name(layout: StateLayout, module_name: str) -> None:
    """Check that a layout belongs to a module of this name.

    Raises
    ------
    ValueError
        it belongs to another module.
    """
    if layout.module_name != module_name:
        raise ValueError(
            f'the state layout is of module "{shown(layout.module_name)}", not of '
            f'"{shown(module_name)}"; give the module the same name, or leave the layout out'
        )
