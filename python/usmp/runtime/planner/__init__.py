"""MemoryPlanner: one managed buffer for modules of changing sizes."""
