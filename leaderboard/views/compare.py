"""Two sellers on the same cells: the difference, where it comes from, and the matches behind it."""

from collections.abc import Mapping, Sequence

import streamlit as st

from arena.analysis import Analysis, Contrast
from arena.results import Results
from arena.store import Listed, Store, StoredDesign
from leaderboard import board_words, comparison, dialogue, markup, wording
from leaderboard.figures import intervals as interval_figure
from leaderboard.inference.compared import Comparison
from leaderboard.inference.contrasts import compare
from leaderboard.inference.gaps import Gap, widest
from leaderboard.inference.splits import splits
from leaderboard.inference.statistic import Estimate
from leaderboard.inference.value import Value, value
from leaderboard.replay import transcript
from leaderboard.tables import compare as compare_table
from leaderboard.views import common, controls
from leaderboard.views.downloads import download
from leaderboard.views.following import follow
from scenarios.scenario import Role

_NO_CELL = ""


def show() -> None:
    """Compare the two sellers that the address names."""
    store = common.open_store()
    follow(store)
    stored = common.chosen_design(store)
    st.html(compare_table.STYLE + dialogue.STYLE)
    if len(stored.design.sellers) < 2:
        st.info(
            "This design has one seller, so there is nothing to compare. To play two on the same cells: "
            "`arena run-tournament --sellers A,B`"
        )
        return
    a, b = _pair(store, stored)
    gaps = common.computed(widest, store, stored, a, b) if a != b else []
    controls.asked([_NO_CELL, *(gap.key_a for gap in gaps)], "cell")
    if a == b:
        st.info("The same seller stands on both sides: choose another one.")
        return
    found = common.computed(contrast, store, stored, a, b)
    _claim(store, stored, found)
    if found.estimate.value is None:
        board = common.board_of(store, stored, Role.SELLER)
        command = board_words.fill_command(board, common.database())
        st.info(f"To play what is missing: `{command}`")
        return
    parts = common.computed(value, store, stored, a, b)
    _whence(store, stored, found)
    _value(parts)
    _table(compare_table.lines(found, parts), f"compare-{a}-{b}")
    _held_out(stored, found)
    _cells(store, stored, a, b)


def contrast(results: Results, a: str, b: str) -> Comparison:
    """Return seller `a` against seller `b`, both versions."""
    return compare(results, Contrast(plus=(a,), minus=(b,)))


def _pair(store: Store, stored: StoredDesign) -> tuple[str, str]:
    """Let the reader choose both sellers: at first the one with the highest score, and its base or else
    the one after it."""
    names = stored.design.names(Role.SELLER)
    bases = (stored.design.analysis or Analysis()).bases
    ranked = [row.player.version for row in common.board_of(store, stored, Role.SELLER).rows]
    left, right, beside = st.columns([4, 4, 2], vertical_alignment="bottom")
    with left:
        a = controls.choose("Seller", ranked, "a", names, ["cell"])
    rivals = sorted(ranked, key=lambda version: (version != bases.get(a), version == a))
    with right:
        b = controls.choose("against", rivals, "b", names, ["cell"])
    with beside:
        swap = markup.link("swap", "compare", design=stored.design.hash, a=b, b=a)
        here = markup.link("link to this pair", "compare", design=stored.design.hash, a=a, b=b)
        st.html(f'<div class="ba-note">⇄ {swap} · {here}</div>')
    return a, b


def _claim(store: Store, stored: StoredDesign, found: Comparison) -> None:
    analysis = stored.design.analysis or Analysis()
    st.html(compare_table.claim(found, len(analysis.contrasts)))
    st.html(compare_table.facts(found, analysis.interval, found.advice))


def _whence(store: Store, stored: StoredDesign, found: Comparison) -> None:
    """Draw where the difference comes from, as figures that share one axis."""
    every = [*found.by_buyer.values(), *found.by_domain.values(), *found.leave_one_out.values()]
    axis = interval_figure.span([found.estimate, *every])
    left, right = st.columns(2, gap="large")
    with left:
        _figure("By buyer", {"all open domains": found.estimate} | found.by_buyer, axis, found)
    with right:
        _split(store, stored, found)
    left, right = st.columns(2, gap="large")
    with left:
        _figure("By domain", found.by_domain, axis, found)
    with right:
        _figure("Leaving one domain out", _without(found), axis, found)


def _split(store: Store, stored: StoredDesign, found: Comparison) -> None:
    """Say of a seller and its base whether the gain lives on one buyer; then how to read the figures."""
    (a,), (b,) = found.contrast.plus, found.contrast.minus
    if (stored.design.analysis or Analysis()).bases.get(a) == b:
        arms = common.computed(splits, store, stored)
        common.part("Does the gain live on one buyer?")
        st.html(compare_table.lives_on(next(arm for arm in arms if arm.version == a)))
        st.html(markup.link("All buyer splits", "buyers", design=stored.design.hash))
    st.html(f'<div class="ba-note">{interval_figure.READING} Dashed: all open domains.</div>')


def _without(found: Comparison) -> dict[str, Estimate]:
    return {f"without {name}": one for name, one in found.leave_one_out.items()}


def _figure(
    title: str, estimates: Mapping[str, Estimate], axis: interval_figure.Span, found: Comparison
) -> None:
    figure = interval_figure.interval_figure(
        estimates, axis, "difference in score", found.estimate.value
    )
    if figure is not None:
        common.part(title)
        st.altair_chart(figure, width="stretch", alt=f"{title}: differences with 95% intervals")


def _value(parts: Value) -> None:
    """Draw what the gain consists of, and say whose loss it is."""
    common.part("Where the gain comes from")
    estimates = {part.label: part.estimate for part in parts.parts} | {"all: the gain": parts.gain}
    axis = interval_figure.span(list(estimates.values()))
    left, right = st.columns(2, gap="large")
    with left:
        figure = interval_figure.interval_figure(estimates, axis, "part of the gain", bars=True)
        if figure is not None:
            st.altair_chart(figure, width="stretch", alt="The parts of the gain, which sum to it")
        said = "<br>".join(map(markup.text, compare_table.whose(parts)))
        st.html(f"<div>{said}</div>")
    with right:
        st.html(compare_table.value_table(parts))


def _table(lines: Sequence[compare_table.Line], name: str) -> None:
    with st.expander("All of these differences as a table"):
        st.html(compare_table.lines_table(lines))
        download("these differences", compare_table.lines_rows(lines), name)


def _held_out(stored: StoredDesign, found: Comparison) -> None:
    said = comparison.held_out_sentence(found)
    if said is None or found.held_out is None:
        return
    names = ", ".join(domain.name for domain in stored.design.domains if domain.held_out)
    common.part(f"Held out, reported apart: {names}")
    analysis = stored.design.analysis or Analysis()
    st.html(f"<div>{markup.text(said)}.</div>")
    st.html(compare_table.facts(found.held_out, analysis.interval))


def _cells(store: Store, stored: StoredDesign, a: str, b: str) -> None:
    """List the cells that differ most; the transcripts of the one that the address names are read."""
    design = stored.design
    common.part("The cells where they differ most")
    found = common.computed(widest, store, stored, a, b)
    if not found:
        st.info("Both scored the same on every cell of the open domains that both completed.")
        return
    listed = [(gap, store.match(gap.key_a), store.match(gap.key_b)) for gap in found]
    names = {role: design.names(role) for role in Role}
    st.html(compare_table.gaps_table(listed, names, design.hash))
    download("these cells", compare_table.gap_rows(listed), f"cells-{a}-{b}")
    labels = {_NO_CELL: "none: choose one of the cells above"} | {
        gap.key_a: f"{place}: {match.domain} {match.number} against "
        f"{names[Role.BUYER].get(match.buyer_version)}, {wording.signed(gap.difference)}"
        for place, (gap, match, _) in enumerate(listed, start=1)
    }
    key = controls.choose("Read both transcripts of", list(labels), "cell", labels)
    if key:
        _transcripts(store, stored, next(pair for pair in listed if pair[0].key_a == key))


def _transcripts(store: Store, stored: StoredDesign, pair: tuple[Gap, Listed, Listed]) -> None:
    first, second = (transcript(store, stored.design, match) for match in pair[1:])
    st.html(dialogue.side_by_side(first, second))
