"""Training runs: a curve a metric, the recipe, and the checkpoints with their rows on boards."""

import json
from collections.abc import Mapping
from typing import Any

import streamlit as st

from arena.store import Registration, StoredDesign, TrainingRun
from leaderboard import dialogue, markup, training, wording
from leaderboard.figures import runs as curves
from leaderboard.views import common, controls, following
from leaderboard.views.downloads import download
from leaderboard.wording import NONE

ALL = "all"
TOGETHER = 6
"""Runs that are drawn over each other at most: more lines in one small chart cannot be told apart."""
_ACROSS = 3


def show() -> None:
    """Show the run that the address names; the newest at first."""
    store = common.open_store()
    following.follow(store)
    runs = {run.name: run for run in reversed(store.training_runs())}
    if not runs:
        st.info(
            "No training run is in this record. One appears here with its first step, while it still "
            "runs: its reward, KL to the base, entropy, fault rate and whatever else it reports. "
            "Sellers that were trained elsewhere need no run: register them with `arena register`, "
            "and they play like any other."
        )
        return
    options = [*runs, *([ALL] if len(runs) > 1 else [])]
    shown = {name: f"{name} · {runs[name].status}" for name in runs} | {ALL: _all_label(len(runs))}
    with st.container(width=480):
        chosen = controls.choose("Run", options, "run", shown)
    names = list(runs)[:TOGETHER] if chosen == ALL else [chosen]
    steps = {name: store.training_steps(name) for name in names}
    agents, designs = store.registrations(), store.designs()
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
    colour = curves.colour(place)
    sample = f'<span style="color:{colour}">▬</span> ' if several else ""
    ended = f", ended {wording.when(run.ended_at)}" if run.ended_at else ""
    last = f"step {steps[-1][0]:,}" if steps else "no step yet"
    facts = f"{run.status} · {last} · begun {wording.when(run.started_at)}{ended}"
    soft = f'<span class="ba-soft">{markup.text(facts)}</span>'
    return f"<div>{sample}<b>{markup.text(run.name)}</b> {soft}</div>"


def _curves(
    steps: Mapping[str, training.Steps], found: Mapping[str, list[tuple[int, Registration]]]
) -> None:
    """Draw one small chart a metric; of a single run the checkpoints are marked."""
    names = training.metrics(steps)
    if not names:
        st.info("No step is stored yet: the curves appear with the first one.")
        return
    marks = {}
    if len(found) == 1:
        marks = {step: wording.visible(agent.name) for saved in found.values() for step, agent in saved}
    for start in range(0, len(names), _ACROSS):
        for column, metric in zip(st.columns(_ACROSS), names[start : start + _ACROSS], strict=False):
            with column:
                figure = curves.curve(metric, steps, marks)
                st.altair_chart(figure, width="stretch", alt=f"{metric} against the step")
    download("all steps", training.rows(steps), "training-steps")


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
    headings = [markup.heading(label) for label in ("run", "checkpoint", "base", "boards")]
    headings.insert(1, markup.heading("step", number=True))
    shown = []
    for run, step, agent in rows:
        links = [
            markup.link(f"{name} on {key}", "board", design=key)
            + f' <span class="soft">{_matches_link(key, agent)}</span>'
            for key, name in training.boards(agent.spec.version, designs)
        ]
        gone = f'<br><span class="soft">withdrawn: {markup.text(agent.withdrawn_reason)}</span>'
        shown.append(
            f"<tr>{markup.cell(markup.text(run))}{markup.cell(f'{step:,}', number=True)}"
            f'<td class="name">{markup.text(agent.full_name)}{gone if agent.withdrawn_at else ""}</td>'
            f"{markup.cell(markup.text(agent.profile.base or NONE))}"
            f"{markup.cell('<br>'.join(links) or _unplayed(agent))}</tr>"
        )
    st.html(markup.table(headings, shown))
    download("the checkpoints", [_row(*row, designs) for row in rows], "checkpoints")


def _matches_link(design: str, agent: Registration) -> str:
    return markup.link("matches", "matches", design=design, seller=agent.spec.version)


def _unplayed(agent: Registration) -> str:
    at = wording.database_option(common.database())
    command = f"arena run-tournament --sellers {agent.name}{at}"
    return f"on none yet; to play it: <code>{markup.text(command)}</code>"


def _row(run: str, step: int, agent: Registration, designs: list[StoredDesign]) -> dict[str, Any]:
    return {
        "run": run,
        "step": step,
        "agent": agent.full_name,
        "base": agent.profile.base,
        "params": agent.profile.params,
        "withdrawn": agent.withdrawn_reason,
        "designs": [key for key, _ in training.boards(agent.spec.version, designs)],
    }


def _recipe(run: TrainingRun) -> None:
    recipe = json.dumps(run.recipe, indent=1, ensure_ascii=False)
    st.html(
        f'<div class="ba-plain"><details><summary>the recipe of {markup.text(run.name)}</summary>'
        f"<pre>{markup.text(recipe)}</pre></details></div>"
    )
