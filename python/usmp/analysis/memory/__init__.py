"""Which memory a PrimFunc accesses: found once for each, and read by all other analyses."""
