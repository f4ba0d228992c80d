"""Colours and marks, the same everywhere; readable on light and dark, and to colour-blind eyes.

Colours are Okabe and Ito's (2008) without black, which dark pages swallow.
"""

SELLER = "#0072B2"
BUYER = "#D55E00"
ANCHOR = "#8A8A8A"
QUIET = "#808080"
"""Words beside a figure, on light and on dark."""
PASS, FAIL, NOT_JUDGED = "#009E73", "#D55E00", "#8A8A8A"
"""Guards; their marks differ in form as well."""
PHONE = 640
"""Pixels: a window up to this wide is a phone's."""
_COLOURS = ("#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#B8A800", "#0072B2")
_SHAPES = ("circle", "square", "diamond", "triangle-up", "triangle-down", "cross", "triangle-right")
_GLYPHS = "●■◆▲▼✚▶"


def colour(position: int) -> str:
    """Return the colour of the opponent at this position of the design."""
    return _COLOURS[position % len(_COLOURS)]


def shape(position: int) -> str:
    """Return its mark; after one round of colours the marks shift, so that pairs stay distinct."""
    return _SHAPES[(position + position // len(_COLOURS)) % len(_SHAPES)]


def glyph(position: int) -> str:
    """Return a character that looks like the mark."""
    return _GLYPHS[_SHAPES.index(shape(position))]
