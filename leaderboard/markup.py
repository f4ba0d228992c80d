"""The pages' HTML. Every text that came from a user or a model passes through :func:`text`."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from urllib.parse import urlencode

from leaderboard import wording
from leaderboard.figures import palette
from leaderboard.figures.palette import PHONE

STYLE = f"""<style>
.stMainBlockContainer {{ padding-top: 2.2rem; }}
.stMainBlockContainer a {{ color: #2f86c9; text-decoration: none; }}
.stMainBlockContainer a:hover {{ text-decoration: underline; }}
h1.ba-title {{ padding: 0; font-size: 1.9rem; }}
h1.ba-title a {{ color: inherit; }}
.ba-nav {{ display: flex; flex-wrap: wrap; gap: .1rem 1.1rem; margin: .5rem 0 .2rem 0;
  padding-bottom: .35rem; border-bottom: 1px solid rgba(128,128,128,.3); font-size: .95rem; }}
.ba-nav [aria-current] {{ font-weight: 600; border-bottom: 2px solid currentColor; }}
.ba-table {{ border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }}
.ba-wide {{ overflow-x: auto; }}
.ba-table th, .ba-table td {{ padding: .38rem .7rem .38rem 0; text-align: left; vertical-align: top;
  border-bottom: 1px solid rgba(128,128,128,.25); font-size: .9rem; }}
.ba-table th {{ font-weight: 500; opacity: .7; }}
.ba-table .num {{ text-align: right; white-space: nowrap; }}
.ba-table .rank {{ white-space: nowrap; }}
.ba-table .mid {{ text-align: center; padding-left: .7rem; white-space: nowrap; }}
.ba-table .soft, .ba-soft {{ opacity: .65; font-size: .8rem; }}
.ba-table td.name, .ba-table td.wrap {{ overflow-wrap: anywhere; min-width: 7rem; }}
.ba-table td.name {{ font-weight: 600; }}
.ba-table tr.line td {{ border-top: 3px double rgba(128,128,128,.6); }}
.ba-table td.name .soft {{ font-weight: 400; }}
.ba-table td.ba-why {{ min-width: 12rem; }}
h3.ba-part {{ padding: 0; margin: 1.1rem 0 .2rem 0; font-size: 1.15rem; }}
.ba-mark {{ font-size: .8rem; }}
.ba-help {{ border: 1px solid currentColor; border-radius: 50%; font-size: .65rem; padding: 0 .28rem;
  opacity: .75; }}
.ba-badge {{ border: 1px solid rgba(128,128,128,.6); border-radius: .7rem; padding: 0 .4rem;
  font-size: .7rem; font-weight: 500; white-space: nowrap; }}
.ba-sign {{ font-weight: 700; cursor: help; }}
.ba-alarm {{ color: {palette.FAIL}; font-weight: 600; white-space: nowrap; }}
[class*=st-key-ba-figure] {{ overflow-x: auto; }}
[class*=st-key-ba-figure] > * {{ min-width: 46rem; }}
@media (max-width: {PHONE}px) {{
  .st-key-ba-figure > * {{ min-width: 0; }}
  .st-key-ba-figure-judged > * {{ min-width: 34rem; }}
}}
.ba-terms-list dd, .ba-term dd {{ max-width: 48rem; margin-bottom: .5rem; }}
.ba-term {{ border-left: 4px solid {palette.SELLER}; background: {palette.SELLER}1a;
  padding: .5rem .8rem; }}
.ba-note {{ opacity: .7; font-size: .85rem; margin-top: .5rem; overflow-wrap: anywhere; }}
.ba-turn {{ border-radius: .6rem; padding: .55rem .8rem; margin: 0 0 .55rem 0; max-width: 94%;
  overflow-wrap: anywhere; }}
.ba-seller {{ background: {palette.SELLER}22; border-left: 4px solid {palette.SELLER}; }}
.ba-buyer {{ background: {palette.BUYER}1f; border-left: 4px solid {palette.BUYER};
  margin-left: 6%; }}
.ba-turn .who {{ font-weight: 600; font-size: .85rem; }}
.ba-turn .prose {{ white-space: pre-wrap; margin: .25rem 0; }}
.ba-turn pre {{ white-space: pre-wrap; overflow-wrap: anywhere; font-size: .8rem;
  background: rgba(128,128,128,.12); padding: .5rem; border-radius: .4rem; max-height: 24rem;
  overflow-y: auto; }}
.ba-turn summary {{ cursor: pointer; font-size: .8rem; opacity: .8; }}
.ba-chip {{ display: inline-block; border-radius: 1rem; padding: .05rem .6rem; font-size: .8rem;
  border: 1px solid rgba(128,128,128,.5); }}
.ba-terms {{ font-size: .8rem; opacity: .85; margin-top: .25rem; }}
.ba-end {{ border-top: 3px double rgba(128,128,128,.6); padding-top: .5rem; font-weight: 600; }}
</style>"""


def text(given: object) -> str:
    """Return `given` as text that HTML shows and never executes; control characters spelled out."""
    return escape(wording.visible(str(given)), quote=True)


def plain(given: str) -> str:
    """Return `given` so that Markdown shows it as it stands."""
    return re.sub(r"([\\`*_{}\[\]()#+\-.!|<>~$:&])", r"\\\1", wording.visible(given))


def address(view: str, **parameters: str | None) -> str:
    """Return the address of a view, without the parameters that are None."""
    given = {name: value for name, value in parameters.items() if value is not None}
    return "?" + urlencode({"view": view} | given)


def link(label: str, view: str, **parameters: str | None) -> str:
    """Return a link to a view, in the same tab."""
    return f'<a href="{escape(address(view, **parameters))}" target="_self">{text(label)}</a>'


def follow(address: Mapping[str, Sequence[str]]) -> str:
    """Return a script that asks for the page again where the browser's address is not the one that was
    drawn.

    Streamlit ignores a step back while it draws its first page, and would leave it under the address
    that the step led to. Each address is asked for once at most: this cannot go round in circles.
    """
    drawn = sorted([name, value] for name, values in address.items() for value in values)
    content = json.dumps(drawn).replace("<", "\\u003c")
    return f"""<script>
setTimeout(() => {{
  const now = [...new URLSearchParams(location.search)].filter(([name]) => !name.startsWith("embed"));
  const address = JSON.stringify(now.sort());
  const right = address === JSON.stringify({content}.sort());
  const asked = window.askedFor === address;
  window.askedFor = right ? null : address;
  if (right || asked) return;
  window.dispatchEvent(new PopStateEvent("popstate"));
}}, 50);
</script>"""


def navigation(labels: Mapping[str, str], current: str, design: str | None) -> str:
    """Return the title and the row of links to the pages, in that order, with the current one marked;
    the links keep the design that the address names."""
    links = [
        f'<span aria-current="page">{text(label)}</span>'
        if name == current
        else link(label, name, design=design)
        for name, label in labels.items()
    ]
    title = link("Bargaining Arena", "board", design=design)
    return (
        f'<h1 class="ba-title">{title}</h1><nav class="ba-nav" aria-label="Pages">{"".join(links)}</nav>'
    )


def table(headings: Sequence[str], rows: Iterable[str]) -> str:
    """Return a table; headings and rows are HTML already."""
    head = "".join(headings)
    return (
        f'<div class="ba-wide"><table class="ba-table"><thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def heading(
    label: str,
    hint: str = "",
    number: bool = False,
    term: str | None = None,
    kind: str = "",
    small: str = "",
) -> str:
    """Return a table's heading cell, of a CSS class `kind`; with `term`, a link to what it means;
    `small` stands below the label."""
    shown = text(label)
    if term is not None:
        shown += help_link(term)
    shown += f'<br><span class="soft">{text(small)}</span>' if small else ""
    return f'<th{_class(number, kind)} title="{text(hint)}">{shown}</th>'


def help_link(term: str) -> str:
    """Return a small link to what a word means."""
    where = escape(address("reading", term=term))
    return f' <a class="ba-help" href="{where}" target="_self" title="what this means">?</a>'


def cell(content: str, hint: str = "", number: bool = False, kind: str = "") -> str:
    """Return a table's cell, of a CSS class `kind`; `content` is HTML already."""
    return f'<td{_class(number, kind)} title="{text(hint)}">{content}</td>'


def _class(number: bool, kind: str = "") -> str:
    names = " ".join(filter(None, ["num" if number else "", kind]))
    return f' class="{names}"' if names else ""
