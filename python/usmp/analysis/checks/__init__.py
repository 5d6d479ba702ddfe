"""Independent checkers of plans, which share no code with algorithms."""
