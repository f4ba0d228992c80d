"""Training runs: a curve a metric, the recipe, and the checkpoints with their rows on boards."""

import json
from collections.abc import Iterator, Mapping, Sequence
from shlex import quote

import streamlit as st

from arena.store import Registration, RunStatus, StoredDesign, TrainingRun
from leaderboard import dialogue, glossary, markup, training, wording
from leaderboard.figures import palette
from leaderboard.figures import runs as curves
from leaderboard.known import lineage_kl
from leaderboard.metrics import described, worded
from leaderboard.views import common, controls, following
from leaderboard.views.downloads import download
from leaderboard.wording import NONE

ALL = "all"
TOGETHER = 6
"""Runs that are drawn over each other at most: more lines in one small chart cannot be told apart."""
MORE = "more"
"""The parameter of the address that asks for all metrics."""
_ACROSS = 3
_SAMPLE = "display:inline-block; width:1.4rem; height:.25rem; margin-right:.4rem; vertical-align:middle"
"""How a piece of a run's line looks beside its name."""


def show() -> None:
    """Show the run that the address names; the newest at first."""
    store = common.open_store()
    following.follow(store)
    agents, designs = store.registrations(), store.designs()
    runs = {
        run.name: training.standing(run, agents, store.address)
        for run in reversed(store.training_runs())
    }
    if not runs:
        st.info(
            "No training run is in this record. One appears here with its first step, while it still "
            "runs: its reward, KL to the base, entropy, fault rate and whatever else it reports. "
            "Sellers that were trained elsewhere need no run: register them with `arena register`, "
            "and they play like any other."
        )
        return
    options = [*runs, *([ALL] if len(runs) > 1 else [])]
    words = {name: f"{name} · {run.status}" for name, run in runs.items()}
    shown = words | {ALL: _all_label(len(runs))}
    with st.container(width=480):
        chosen = controls.choose("Run", options, "run", shown)
    names = list(runs)[:TOGETHER] if chosen == ALL else [chosen]
    steps = {name: store.training_steps(name) for name in names}
    found = {name: training.checkpoints(name, agents) for name in names}
    st.html(dialogue.STYLE)
    for name in names:
        st.html(_facts(runs[name], steps[name], names.index(name), len(names) > 1))
    _curves(steps, found)
    _checkpoints(found, designs)
    for name in names:
        _recipe(runs[name])


def _all_label(count: int) -> str:
    return f"the newest {TOGETHER} together" if count > TOGETHER else "all together"


def _facts(run: TrainingRun, steps: training.Steps, place: int, several: bool) -> str:
    sample = f'<span style="{_SAMPLE}; background:{curves.colour(place)}"></span>' if several else ""
    said = (" · ".join(facts) for facts in (_said(run, steps), training.in_short(run.recipe)))
    lines = (f'<br><span class="ba-soft">{markup.text(line)}</span>' for line in said if line)
    return f"<div>{sample}<b>{markup.text(run.name)}</b> · {_status(run, steps)}{''.join(lines)}</div>"


def _status(run: TrainingRun, steps: training.Steps) -> str:
    """Return how a run stands; one that ended early stands out, with why."""
    early = run.status in (RunStatus.STOPPED, RunStatus.FAILED)
    kind = f' style="color:{palette.FAIL}; font-weight:600"' if early else ""
    said = training.ended_early(run.status, steps[-1][0] if steps else 0, run.why) or run.status
    return f"<span{kind}>{markup.text(said)}</span>"


def _said(run: TrainingRun, steps: training.Steps) -> Iterator[str]:
    of = run.recipe.get("steps")
    last = f"step {steps[-1][0]:,}" if steps else "no step yet"
    yield f"{last} of {of:,}" if steps and isinstance(of, int) else last
    for name in ("reward", "kl"):
        found = training.ends(training.points(steps, name))
        if found is not None:
            first, now = (worded(name, value) for value in found)
            yield f"{described(name).title} {first} to {now}"
    ended = f", ended {wording.when(run.ended_at)}" if run.ended_at else ""
    yield f"begun {wording.when(run.started_at)}{ended}"


def _curves(
    steps: Mapping[str, training.Steps], found: Mapping[str, list[tuple[int, Registration]]]
) -> None:
    """Draw one small chart a metric, those first that a run is judged by; of a single run the
    checkpoints are marked."""
    shown = training.metrics(steps)
    if not any(shown):
        st.info("No step is stored yet: the curves appear with the first one.")
        return
    marks = {}
    if len(found) == 1:
        marks = {step: wording.visible(agent.name) for saved in found.values() for step, agent in saved}
    dashed = "; a dashed line is a checkpoint" if marks else ""
    st.caption(
        f"Against the step{dashed}. A single step is noisy: read the trend. All this is with the buyers "
        "that it learns from: whether it bargains better, only a board says."
    )
    _grid(shown.first, steps, marks)
    if shown.buyers:
        _buyers(steps, shown.buyers)
    if shown.rest:
        _more(shown.rest, steps, marks)
    download("all steps", training.rows(steps), "training-steps")


def _grid(names: Sequence[str], steps: Mapping[str, training.Steps], marks: Mapping[int, str]) -> None:
    for start in range(0, len(names), _ACROSS):
        for column, metric in zip(st.columns(_ACROSS), names[start : start + _ACROSS], strict=False):
            with column:
                st.html(_heading(metric))
                figure = curves.curve(metric, steps, marks)
                title = described(metric).title
                st.altair_chart(figure, width="stretch", alt=f"{title} against the step")


def _heading(metric: str) -> str:
    """Return a chart's title; what it means is one pointer, or for the first ones one click, away."""
    known = described(metric)
    hint = ": ".join(filter(None, (metric, known.meaning)))
    title = f'<b title="{markup.text(hint)}">{markup.text(known.title)}</b>'
    return f"<div>{title}{markup.help_link(known.title) if glossary.term(known.title) else ''}</div>"


def _buyers(steps: Mapping[str, training.Steps], names: Sequence[str]) -> None:
    """Draw with whom each run's dialogues were, a chart a run."""
    own = {run: [name for name in names if training.points(steps[run], name)] for run in steps}
    played = [run for run in steps if own[run]]
    for start in range(0, len(played), _ACROSS):
        runs = played[start : start + _ACROSS]
        for column, run in zip(st.columns(_ACROSS), runs, strict=False):
            with column:
                several = f" of {run}" if len(steps) > 1 else ""
                st.html(f"<b>{markup.text(f'buyers{several}, share of the dialogues')}</b>")
                figure = curves.buyers(steps[run], own[run])
                st.altair_chart(figure, width="stretch", alt="share of each buyer against the step")


def _more(names: Sequence[str], steps: Mapping[str, training.Steps], marks: Mapping[int, str]) -> None:
    """Draw the other metrics where the address asks for them; else say how many there are."""
    address = {name: st.query_params[name] for name in st.query_params if name not in ("view", MORE)}
    if controls.asked(("no", "yes"), MORE) == "no":
        label = f"{wording.counted(len(names), 'more metric')}: how it was optimised, lengths, clipping"
        st.html(markup.link(label, "runs", **address, **{MORE: "yes"}))
        return
    st.html(markup.link("fewer metrics", "runs", **address))
    _grid(names, steps, marks)


def _checkpoints(
    found: Mapping[str, list[tuple[int, Registration]]], designs: list[StoredDesign]
) -> None:
    st.subheader("Checkpoints")
    rows = [(run, step, agent) for run, saved in found.items() for step, agent in saved]
    if not rows:
        st.caption(
            "No agent of this record was saved in this run. A checkpoint appears here once it is "
            "registered with the run and the step in its lineage."
        )
        return
    several = len(found) > 1
    headings = [
        *([markup.heading("run")] if several else []),
        markup.heading("checkpoint"),
        markup.heading("step", number=True),
        markup.heading("base"),
        markup.heading("KL", "from its base when it was saved", number=True),
        markup.heading("boards"),
    ]
    lines = [_checkpoint(run if several else None, step, agent, designs) for run, step, agent in rows]
    st.html(markup.table(headings, lines))
    _how_to_play([run for run, saved in found.items() if saved], designs)
    saved = [
        {"run": run}
        | training.checkpoint_row(step, agent)
        | {"designs": [key for key, _ in training.boards(agent.spec.version, designs)]}
        for run, step, agent in rows
    ]
    download("the checkpoints", saved, "checkpoints")


def _checkpoint(run: str | None, step: int, agent: Registration, designs: list[StoredDesign]) -> str:
    """Return a checkpoint's row; its run in front, unless that is None."""
    version = agent.spec.version
    boards = [
        markup.link(f"{name} on {key}", "board", design=key)
        + f' <span class="soft">{markup.link("matches", "matches", design=key, seller=version)}</span>'
        for key, name in training.boards(version, designs)
    ]
    gone = f'<br><span class="soft">withdrawn: {markup.text(agent.withdrawn_reason)}</span>'
    name = markup.text(agent.full_name).replace("@", "@<wbr>")
    cells = [
        *([] if run is None else [markup.cell(markup.text(run))]),
        f'<td class="name">{name}{gone if agent.withdrawn_at else ""}</td>',
        markup.cell(f"{step:,}", number=True),
        markup.cell(markup.text(agent.profile.base or NONE)),
        markup.cell(worded("kl", lineage_kl(agent.profile.lineage)), number=True),
        markup.cell("<br>".join(boards) or "on none yet"),
    ]
    return f"<tr>{''.join(cells)}</tr>"


def _how_to_play(runs: Sequence[str], designs: Sequence[StoredDesign]) -> None:
    """Say by which command the checkpoints play with their base."""
    at = wording.database_option(common.database())
    design = designs[0].design.hash if designs else "DESIGN"
    commands = [f"arena evaluate {quote(run)} --design {design}{at}" for run in runs]
    shown = "<br>".join(f"<code>{markup.text(command)}</code>" for command in commands)
    st.html(f'<div class="ba-note">To play them and their base on the same cells:<br>{shown}</div>')


def _recipe(run: TrainingRun) -> None:
    recipe = json.dumps(run.recipe, indent=1, ensure_ascii=False)
    st.html(
        f'<div class="ba-plain"><details><summary>the recipe of {markup.text(run.name)}</summary>'
        f"<pre>{markup.text(recipe)}</pre></details></div>"
    )
