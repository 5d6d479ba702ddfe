"""Models of one operator with random attributes, types and shapes, compared with what a reference
computes: one module a front end, each with `GENERATORS` and `registered_operators`."""
