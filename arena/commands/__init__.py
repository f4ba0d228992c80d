"""One command a file; what a command needs is imported inside it, so that --help stays quick."""
