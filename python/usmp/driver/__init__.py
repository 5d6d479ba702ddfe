"""The command line, which parses options and calls the library, without logic of its own."""
