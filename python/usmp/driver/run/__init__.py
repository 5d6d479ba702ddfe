"""`tvmc run` on this host, a board or a device, and `tvmc export-test`."""
