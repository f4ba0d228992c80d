"""The rules of play: golden playthroughs, the table of causes, and properties."""
