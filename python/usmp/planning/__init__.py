"""Planning: what is asked for, what is known, which candidates there are, and the best plan."""
