"""Where the states of a model are, as data that outlives the program: a new version of it that has
them in the same places finds what the old one left there."""

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
from usmp.support.plain_text import shown

_HASH_BYTES = 8


@dataclass(frozen=True)
class StateLayout:
    """The places of all states of a module.

    Parameters
    ----------
    module_name
        the module's name, the prefix of its C symbols.
    states
        each with its place; in the order of pools, and of bytes in each.

    Raises
    ------
    ValueError
        a name that is missing or comes twice, a size that is not that of the elements, or
        places that overlap, begin below 0, are not aligned, or end beyond 63 bits.
    """

    module_name: str
    states: tuple[StatePlace, ...]

    def __post_init__(self) -> None:
        # Attributes of modules are equal to no others, even if they have the same fields.
        plain = map(plain_place, self.states)
        ordered = sorted(plain, key=lambda s: (s.pool_name, s.byte_offset, s.name))
        object.__setattr__(self, "states", tuple(ordered))
        if not self.module_name:
            raise ValueError("the name of the module is empty")
        check_places(self.states)

    @property
    def hash(self) -> int:
        """64 bits that are equal if what one program leaves in the states is what another one
        finds: names, types, shapes, places and initial values."""
        text = json.dumps(hashed_content(self.module_name, self.states), separators=(",", ":"))
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:_HASH_BYTES], "big")

    @property
    def hash_text(self) -> str:
        """The hash as C and JSON have it."""
        return f"0x{self.hash:0{2 * _HASH_BYTES}x}"

    def document(self) -> dict[str, Any]:
        """What `to_json` writes, and `metadata.json` has."""
        return layout_document(self.module_name, self.states, self.hash_text)

    def to_json(self) -> str:
        """The layout as a file has it."""
        return json.dumps(self.document(), indent=2) + "\n"

    @classmethod
    def from_json(cls, content: str | bytes) -> StateLayout:
        """The layout that `to_json` wrote.

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
        """The layout in a file.

        Raises
        ------
        ValueError
            the file is no state layout, or a damaged one.
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
    """Check that a layout is that of a module of this name.

    Raises
    ------
    ValueError
        it is another one's.
    """
    if layout.module_name != module_name:
        raise ValueError(
            f'the state layout is of module "{shown(layout.module_name)}", not of '
            f'"{shown(module_name)}"; give the module the same name, or leave the layout out'
        )
