"""Safe overlaps: the distance of a written buffer from one that is still read."""
