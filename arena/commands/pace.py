"""How fast a tournament goes, and how long it will take, by its last minutes.

Earlier ones tell little of a provider's limits of rate, and nothing good of an outage that is over.
"""

from collections import deque

from arena.summary import Summary
from arena.tournament import Tournament

WINDOW_S = 180.0
"""A rate is over so many seconds, this project's choice: some matches of a slow model fall into it."""
SAMPLE_S = 1.0


class Pace:
    """How fast one count grows."""

    def __init__(self, seconds: float = 0.0, count: int = 0) -> None:
        """Begin at a time, in seconds, when the count stood so."""
        self._seen = deque([(seconds, count)])
        self._now = seconds, count

    def note(self, seconds: float, count: int) -> None:
        """Take where the count stands."""
        self._now = seconds, count
        if seconds - self._seen[-1][0] >= SAMPLE_S:
            self._seen.append(self._now)
        while len(self._seen) > 1 and self._seen[1][0] <= seconds - WINDOW_S:
            self._seen.popleft()

    @property
    def a_second(self) -> float | None:
        """Return the rate over the last WINDOW_S, or since it began; None where nothing grew."""
        (since, before), (now, count) = self._seen[0], self._now
        return (count - before) / (now - since) if count > before and now > since else None


class Paces:
    """How fast a tournament's matches are played: those of scripted agents and plug-ins, which come
    first, those that wait for answers, and those of each agent that has a tally."""

    def __init__(self, tournament: Tournament) -> None:
        self._quick_planned = self._quick = tournament.quick
        self._waiting = tournament.waiting + tournament.replays
        self._void_before = tournament.summary.void
        self.total = tournament.quick + tournament.waiting
        """Matches that this run is to play."""
        self.done = 0
        """Those of them that are scored, or given up as void."""
        self._quick_pace, self._waiting_pace = Pace(), Pace()
        self.by_agent = {version: Pace() for version in tournament.summary.tallies}
        self._left: int = self._waiting

    def note(self, summary: Summary) -> None:
        """Take how far the tournament is."""
        self.done = summary.played + summary.void - self._void_before
        self._quick = self._quick_planned - summary.dropped_quick
        quick = min(self.done, self._quick)
        waited = self.done - quick + summary.replayed
        if quick < self._quick:
            self._quick_pace.note(summary.seconds, quick)
            self._waiting_pace = Pace(summary.seconds)
        else:
            self._waiting_pace.note(summary.seconds, waited)
        self._left = max(0, self._waiting - waited - summary.dropped)
        for version, pace in self.by_agent.items():
            pace.note(summary.seconds, summary.tallies[version].played)

    @property
    def a_second(self) -> float | None:
        """Return the matches a second that are played now."""
        pace = self._quick_pace if self.done < self._quick else self._waiting_pace
        return pace.a_second

    @property
    def left_s(self) -> float | None:
        """Return about how many seconds are left; None where nothing tells yet."""
        seconds = 0.0
        for left, pace in (
            (self._quick - self.done, self._quick_pace),
            (self._left, self._waiting_pace),
        ):
            if left <= 0:
                continue
            if pace.a_second is None:
                return None
            seconds += left / pace.a_second
        return seconds
