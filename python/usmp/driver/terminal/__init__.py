"""What a person sees and types while a command runs: help, progress, errors, completion."""
