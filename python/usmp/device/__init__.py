"""Models on the devices of users: a test of their own in C, and runs over a serial line."""
