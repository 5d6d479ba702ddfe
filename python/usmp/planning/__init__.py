"""Planning: options, candidate pools, operator order, streaming, the search, and its session."""
