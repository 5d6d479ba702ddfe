"""A plan as a file for viewers and tools that others have."""

from usmp.report.exchange.formats import FORMATS, Writer, writer_of

__all__ = ["FORMATS", "Writer", "writer_of"]
