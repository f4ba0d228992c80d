"""Missing and void matches as HTML."""

from collections.abc import Sequence

from leaderboard import void_words
from leaderboard.inference.voids import Missing
from leaderboard.markup import cell, heading, link, table, text
from scenarios.scenario import Role


def voids_table(found: Sequence[Missing], role: Role, design: str) -> str:
    """Return a row an agent: its score with its bounds, what is missing, and void attempts by kind; its
    name leads to those."""
    headings = [
        heading(role.value),
        *(heading(name, number=True) for name in void_words.HEADINGS),
        heading("void attempts", "at whose fault, and through what trouble", term="void"),
    ]
    rows = []
    for one in found:
        where = {"design": design, role.value: one.row.player.version}
        name = link(one.row.agent, "matches", **where, record="void" if one.attempts else None)
        rows.append(
            f'<tr><td class="name">{name}</td>'
            + "".join(cell(text(figure), number=True) for figure in void_words.figures(one))
            + cell("<br>".join(map(text, void_words.attempts(one))), kind="wrap")
            + "</tr>"
        )
    return table(headings, rows)
