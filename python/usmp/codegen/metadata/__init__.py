"""The metadata.json of an archive."""

from usmp.codegen.metadata.module import metadata as metadata
