"""Windows of time that slide: which rows of each tensor a run shares with the one before it."""
