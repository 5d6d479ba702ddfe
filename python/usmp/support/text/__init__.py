"""Text for people, and text from files that may be hostile."""
