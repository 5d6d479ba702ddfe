"""Models on the devices of users: self tests in C, and runs over a serial line."""
