"""The tables of the pages and of the exported report, as HTML."""
