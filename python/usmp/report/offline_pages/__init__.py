"""Parts of HTML pages that open offline: the memory map, and the chart of `tvmc explore`."""
