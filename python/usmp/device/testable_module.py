"""Check that a model can be tested on a device."""

from __future__ import annotations

import shlex

from usmp.runtime.archived.module import ArchivedModule
from usmp.support.text.plain_text import shown


class NotTestable(ValueError):
    """The model cannot be tested on a device."""


def check_testable(module: ArchivedModule) -> None:
    """Raise NotTestable unless a model is called from C and all of its memory has a known size."""
    where = f'model "{shown(module.name)}"'
    if module.metadata.get("interface_api") == "packed":
        raise NotTestable(
            f"{where} has the packed interface, which TVM's runtime calls, and no device; compile "
            "it with --executor-aot-interface-api=c"
        )
    for entry in module.entries.values():
        for size in entry.sizes.values():
            if size.upper_bound is None:
                name = shown(size.name)
                raise NotTestable(
                    f'size "{name}" of {where} has no upper bound, so that no memory is large '
                    f"enough for its tensors; compile it with --max {shlex.quote(name)}=N"
                )
        if entry.takes_arena:
            raise NotTestable(
                f"{where} allocates buffers while it runs, of which no size is known; only models "
                "that are planned as a whole can be tested on a device"
            )
