"""Products of matrices, and of vectors by constant weights."""
