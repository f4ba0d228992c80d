"""What is shown of a tournament while it plays: rates, time left, a row an agent, and news."""

import io
import re
import sys
import time
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from agents.agent import Trouble
from arena.budget import Account
from arena.commands import progress
from arena.commands.live_table import live_table
from arena.commands.pace import WINDOW_S, Pace, Paces
from arena.money import nano
from arena.summary import Summary
from arena.tally import Aside, Tally


def tally(name: str = "m", **changes: object) -> Tally:
    made = {"version": name, "free": False, "planned": 100, "already": 0}
    return Tally(name, **(made | changes))


def summary(*tallies: Tally, **changes: object) -> Summary:
    made = {"design": "d", "planned": 1000, "already": 0} | changes
    return Summary(**made, tallies={one.version: one for one in tallies})


def paces(of: Summary, quick: int = 0, waiting: int = 100, replays: int = 0) -> Paces:
    return Paces(SimpleNamespace(quick=quick, waiting=waiting, replays=replays, summary=of))


def drawn(of: Summary, found: Paces, width: int = 80, height: int = 24) -> list[str]:
    console = Console(file=io.StringIO(), width=width, height=height, color_system=None)
    console.print(live_table(of, found, console))
    return console.file.getvalue().splitlines()


def test_a_rate_is_that_of_the_last_minutes() -> None:
    """Twice a second for ten minutes, and then twice a minute."""
    pace = Pace()
    for tenth in range(6000):
        pace.note(tenth / 10, tenth // 5)
    assert pace.a_second == pytest.approx(2, rel=0.01)
    for second in range(600, 600 + 2 * int(WINDOW_S)):
        pace.note(second, 1200 + (second - 600) // 30)
    assert pace.a_second == pytest.approx(1 / 30, rel=0.2)


def test_nothing_is_said_of_a_rate_before_anything_happened() -> None:
    pace = Pace()
    pace.note(100.0, 0)
    assert pace.a_second is None


def test_time_left_counts_what_waits_at_the_pace_of_what_waits() -> None:
    """A thousand scripted matches in ten seconds say nothing of the hundred that a model plays."""
    run = summary(tally(), planned=1100)
    found = paces(run, quick=1000)
    for second in range(1, 10):
        run.seconds, run.played = second, 100 * second
        found.note(run)
    assert found.left_s is None
    assert found.a_second == pytest.approx(100)
    for second in range(10, 110, 2):
        run.seconds, run.played = second, 1000 + (second - 10) // 4
        found.note(run)
    assert found.a_second == pytest.approx(1 / 4, rel=0.1)
    assert found.left_s == pytest.approx((1100 - run.played) * 4, rel=0.1)


def test_matches_of_an_agent_that_was_set_aside_take_no_time() -> None:
    run = summary(tally(), planned=100)
    found = paces(run)
    run.seconds, run.played = 10, 10
    found.note(run)
    assert found.left_s == pytest.approx(90)
    run.dropped = 60
    found.note(run)
    assert found.left_s == pytest.approx(30)
    run.dropped = 90
    found.note(run)
    assert found.left_s == 0


def test_nor_do_those_of_a_plug_in_whose_provider_nobody_waits_for() -> None:
    """They are over when they are put off, and what is awaited comes next."""
    run = summary(tally(), planned=150)
    found = paces(run, quick=100, waiting=50)
    run.seconds, run.played = 10, 20
    found.note(run)
    run.dropped_quick = 60
    run.seconds, run.played = 20, 40
    found.note(run)
    run.seconds, run.played = 40, 60
    found.note(run)
    assert found.left_s == pytest.approx(30 * 30 / 20)
    run.seconds, run.played = 70, 90
    found.note(run)
    assert found.left_s == 0
    assert "60 put off" in drawn(run, found)[-1]


def test_void_before_is_not_done_now_and_replays_are_work() -> None:
    run = summary(tally(), planned=100, void=40)
    found = paces(run, waiting=60, replays=6)
    run.seconds, run.played, run.replayed = 60, 30, 3
    found.note(run)
    assert (found.done, found.total) == (30, 60)
    assert found.left_s == pytest.approx(60)


counts = st.integers(0, 9_999)


@given(
    rows=st.lists(
        st.tuples(
            st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=1, max_size=60),
            *(counts, counts, counts, counts, st.integers(0, 10**10)),
            st.sampled_from(list(Trouble)),
            st.one_of(st.none(), st.floats(0, 9_999)),
        ),
        min_size=1,
        max_size=20,
    ),
    height=st.integers(8, 60),
)
def test_at_80_columns_every_number_is_whole(rows, height: int) -> None:
    """Names and kinds of trouble are cut; no line is longer than the screen, nor are there more."""
    made = []
    for number, (name, played, before, faults, voids, tokens, kind, cost) in enumerate(rows):
        one = tally(name, version=str(number), planned=2 * played + before, already=before)
        one.played, one.faults, one.tokens_in, one.last_trouble = played, faults, tokens, kind
        one.voids.update({kind: voids})
        one.account = Account(unpriced=1) if cost is None else Account(nano(cost))
        made.append(one)
    run = summary(*made)
    lines = drawn(run, paces(run), height=height)
    assert len(lines) < height
    assert all(len(line) <= 80 for line in lines)
    body = [line for line in lines[1:-1] if not line.startswith("and ")]
    assert len(body) == len(made) or len(body) + 4 == height - 1
    shown = {(one.played, one.planned - one.already, one.faults) for one in made}
    for line in body:
        found = re.findall(r"(?:^|\s)([\d,]+)/([\d,]+) ", line)
        assert (int(found[-1][0].replace(",", "")), int(found[-1][1].replace(",", ""))) in {
            pair[:2] for pair in shown
        }
        tokens, spent = line.split()[-2:]
        assert re.fullmatch(r"\d[\d.,]*[kMG]?", tokens)
        assert spent == "unknown" or re.fullmatch(r"\$\d[\d.,]*", spent)


def test_where_there_is_little_room_what_needs_attention_is_shown() -> None:
    well = [tally(f"well{n}") for n in range(12)]
    bad = tally("bad")
    bad.voids[Trouble.RATE_LIMIT], bad.last_trouble = 3, Trouble.RATE_LIMIT
    run = summary(*well, bad)
    lines = drawn(run, paces(run), height=10)
    (row,) = [line for line in lines if line.startswith("bad")]
    assert "3 rate limit" in row
    assert "and 8 more" in lines


def test_what_is_not_known_is_said_to_be_unknown() -> None:
    unpriced, known = Account(unpriced=1), nano(1.5)
    run = summary(
        tally("a", account=unpriced),
        tally("b", account=Account(known, unpriced=1)),
        tally("c", account=Account(known, unknown=1)),
        tally("d", account=unpriced, free=True),
    )
    spent = [row.split()[-1] for row in drawn(run, paces(run))[1:-1]]
    assert spent == ["unknown", "$1.50+?", "$1.50+?", "-"]


def test_matches_of_before_stand_apart() -> None:
    run = summary(tally(planned=100, already=60), already=60, planned=100)
    found = paces(run, waiting=40)
    run.seconds, run.played, run.tallies["m"].played = 60.0, 4, 4
    found.note(run)
    heading, row, bar = drawn(run, found)
    assert row.split()[:4] == ["m", "4/40", "60", "4.0"]
    assert heading.split()[:4] == ["agent", "played", "before", "/min"]
    assert "4 of 40 played (60 before), 4.0 matches/min, about 9 min left" in bar


def test_scripted_agents_have_a_bar_alone() -> None:
    run = summary()
    (bar,) = drawn(run, paces(run, quick=10, waiting=0))
    assert "0 of 10 played" in bar


class Terminal(io.StringIO):
    def __init__(self, there: bool) -> None:
        super().__init__()
        self.there = there

    def isatty(self) -> bool:
        return self.there


def tournament(run: Summary, waiting: int) -> SimpleNamespace:
    return SimpleNamespace(quick=0, waiting=waiting, replays=0, summary=run)


def test_a_table_is_drawn_a_few_times_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    screen, now = Terminal(True), [1000.0]
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    run = summary(tally())
    with progress.shown(tournament(run, 100)) as tick:
        for hundredth in range(300):
            now[0] = 1000 + hundredth / 100
            run.seconds = hundredth / 100
            tick(run)
    draws = screen.getvalue().count("forfeits")
    assert 8 <= draws <= 10  # one every 0.4 s, and the last two as it ends


def test_what_a_stopped_run_waits_for_is_said_once() -> None:
    run, news = summary(tally()), progress.News()
    assert [*news.of(run)] == []
    told = []
    for left in (2, 1, 0):
        run.awaited = left
        told += news.of(run)
    assert told == ["waiting for 2 answers under way, at most 20 s; Ctrl-C again breaks off"]


def test_without_a_terminal_a_line_every_15_seconds_and_news_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    said, now = Terminal(False), [0.0]
    monkeypatch.setattr(sys, "stderr", said)
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    one, other = tally("one"), tally("oth\x1b[2Jer")
    run = summary(one, other)
    with progress.shown(tournament(run, 100)) as tick:
        for second in range(61):
            now[0] = run.seconds = float(second)
            run.played = second
            if second >= 20:
                one.voids[Trouble.SERVER], one.last_trouble = second - 19, Trouble.SERVER
            if second >= 40:
                other.set_aside = Aside("check the key in KEY", Trouble.AUTHENTICATION)
            tick(run)
    lines = said.getvalue().splitlines()
    assert [line for line in lines if "of 100 played" not in line] == [
        "one: a first attempt is void (server); such a match is tried again",
        "oth\\x1b[2Jer was stopped (authentication): check the key in KEY",
    ]
    assert [line for line in lines if "of 100 played" in line] == [
        f"{n} of 100 played, 60.0 matches/min, about {left} left"
        for n, left in ((15, "85 s"), (30, "70 s"), (45, "55 s"), (60, "40 s"))
    ]
    assert lines.index("15 of 100 played, 60.0 matches/min, about 85 s left") == 0
