"""`tvmc compile` and `tvmc plan`."""
