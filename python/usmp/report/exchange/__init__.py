"""Export a plan to the file formats of other viewers and tools."""

from usmp.report.exchange.formats import FORMATS, Writer, writer_of

__all__ = ["FORMATS", "Writer", "writer_of"]
