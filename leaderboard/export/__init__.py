"""A design taken along: flat tables in files, and the board as one page."""
