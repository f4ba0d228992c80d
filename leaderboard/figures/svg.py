"""A figure as SVG inside an HTML page: no script, no reference, colours that follow the page."""

from typing import Any
from xml.etree import ElementTree

import altair as alt

_SVG = "http://www.w3.org/2000/svg"
_QUIET = "rgba(128,128,128,0.35)"
_INK = {
    "axis": {
        "labelColor": "currentColor",
        "titleColor": "currentColor",
        "gridColor": _QUIET,
        "domainColor": _QUIET,
        "tickColor": _QUIET,
    },
    "legend": {"labelColor": "currentColor", "titleColor": "currentColor"},
    "title": {"color": "currentColor"},
}
"""Words take the page's colour, so that a dark page shows them."""


def svg(figure: alt.LayerChart, name: str, label: str, width: int) -> str:
    """Return the figure as an SVG element, `width` pixels wide between its axes.

    `name` must be another for each figure of a page, since ids of a page are shared; `label` says what
    the figure shows. What a mouse would be told of a mark over it stands in the mark as its title; links
    are left out.
    """
    import vl_convert

    spec = _still(figure.properties(width=width, background="transparent").to_dict())
    spec["padding"] = {"top": 5, "bottom": 8} | spec.get("padding", {})
    for part, colours in _INK.items():
        spec["config"][part] = colours | spec["config"].get(part, {})
    version = alt.SCHEMA_VERSION.rpartition(".")[0].lstrip("v")
    drawn = vl_convert.vegalite_to_svg(spec, vl_version=version, allowed_base_urls=[])
    ElementTree.register_namespace("", _SVG)
    # The drawing is vl-convert's own; names in it are escaped there, and parsing it proves it sound.
    root = ElementTree.fromstring(drawn)
    for element in root.iter():
        _own_ids(element, name)
        _told(element)
    root.set("role", "img")
    root.set("aria-label", label)
    return ElementTree.tostring(root, encoding="unicode")


def _still(part: Any) -> Any:
    """Return a figure's specification with what moves replaced: a mark's tooltip becomes its
    description, a mark without one is no more than a line to look at, and no mark is a link."""
    if isinstance(part, list):
        return [_still(entry) for entry in part]
    if not isinstance(part, dict):
        return part
    kept = {key: value if key == "datasets" else _still(value) for key, value in part.items()}
    if "mark" not in part:
        return kept
    encoding = dict(kept["encoding"])
    encoding.pop("href", None)
    hints = encoding.pop("tooltip", None)
    if hints is None:
        return kept | {"mark": kept["mark"] | {"aria": False}, "encoding": encoding}
    said = [{"calculate": _sentence(hints if isinstance(hints, list) else [hints]), "as": _TOLD}]
    encoding["description"] = {"field": _TOLD, "type": "nominal"}
    return kept | {"transform": [*kept.get("transform", ()), *said], "encoding": encoding}


_TOLD = "told"


def _sentence(hints: list[dict[str, str]]) -> str:
    """Return the expression that says what a tooltip says: first whose it is, then each figure."""
    shown = []
    for hint in hints:
        value = f"datum[{hint['field']!r}]"
        shown.append(f"format({value}, {hint['format']!r})" if "format" in hint else value)
    named = [f"{hint.get('title', hint['field'])}: " for hint in hints]
    rest = [f" + {'; ' + name!r} + {value}" for name, value in zip(named[1:], shown[1:], strict=True)]
    return f"'' + {shown[0]}{''.join(rest)}"


def _own_ids(element: ElementTree.Element, name: str) -> None:
    for key, value in element.attrib.items():
        if key == "id":
            element.set(key, f"{name}-{value}")
        elif value.startswith("url(#"):
            element.set(key, f"url(#{name}-{value.removeprefix('url(#')}")


def _told(element: ElementTree.Element) -> None:
    """Let a browser show a mark's description where a mouse is over it: as its title."""
    is_mark = element.get("role") == "graphics-symbol" and element.get("aria-hidden") is None
    if is_mark and element.get("aria-roledescription") not in ("axis", "legend"):
        title = ElementTree.Element(f"{{{_SVG}}}title")
        title.text = element.attrib.pop("aria-label", "")
        element.insert(0, title)
