"""What a run of a tournament came to."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum

from arena.money import usd
from arena.record import Played
from arena.replays import replayed_block
from arena.tally import Aside, Tally


class Cause(StrEnum):
    """What ended a run early, beside an interruption."""

    BUG = "bug"
    """A bug of this project."""
    GIVEN_UP = "given_up"
    """It could not go on through nobody's fault, as where the disk is full."""
    WORKER = "worker"
    """A worker process ended."""


@dataclass
class Summary:
    """What a run came to. planned = already + played + void + left."""

    design: str
    planned: int
    already: int
    """Scored before this run."""
    played: int = 0
    void: int = 0
    """Tried as often as allowed, and void every time."""
    void_so_far: int = 0
    """Void every time, and yet to be tried again; part of `left`. Boards call both void."""
    withdrawn: int = 0
    """Planned matches that were withdrawn; they are part of `left`."""
    replayed: int = 0
    """Matches of a base played once more, to see drift; they are in no other count of matches."""
    dropped: int = 0
    """Matches that wait for another run, since an agent of theirs was set aside; part of `left`. Of
    those that are awaited."""
    dropped_quick: int = 0
    """The same of all others, which are played first."""
    seconds: float = 0.0
    tallies: dict[str, Tally] = field(default_factory=dict)
    """Of every agent that is not scripted, by version; of this run."""
    drift: str | None = None
    """What replays show, where that is a change of what was served, in words."""
    interrupted: bool = False
    awaited: int = 0
    """Answers that a run which was interrupted still waits for."""
    away: str | None = None
    """Why the database cannot be used, where that may pass."""
    cause: Cause | None = None
    trouble: str | None = None
    """The words of `cause`."""

    @property
    def left(self) -> int:
        """Matches that are neither scored nor given up as void."""
        return self.planned - self.already - self.played - self.void

    @property
    def waiting(self) -> int:
        """Matches that the same command would still play: what is left, but for withdrawn ones."""
        return self.left - self.withdrawn

    @property
    def put_off(self) -> int:
        """Matches that wait for another run, since an agent of theirs was set aside; part of `left`."""
        return self.dropped + self.dropped_quick

    @property
    def complete(self) -> bool:
        """Whether all that was planned is scored."""
        return self.planned == self.already + self.played

    @property
    def well(self) -> bool:
        """Whether all that was planned is scored, and no bug of ours was met."""
        return self.complete and self.cause is not Cause.BUG

    @property
    def void_attempts(self) -> Counter[str]:
        """Return this run's void attempts by the version of the agent whose provider failed."""
        found = {version: tally.voids.total() for version, tally in self.tallies.items()}
        return +Counter(found)

    @property
    def void_by_reason(self) -> Counter[str]:
        """Return this run's void attempts by the kind of trouble, an `agents.agent.Trouble`."""
        return sum((tally.voids for tally in self.tallies.values()), Counter())

    @property
    def forfeits(self) -> dict[tuple[str, str], int]:
        """Return this run's forfeits by version of the agent at fault and ending."""
        return {
            (version, ending): count
            for version, tally in self.tallies.items()
            for ending, count in tally.forfeits.items()
        }

    @property
    def set_aside(self) -> dict[str, Aside]:
        """Return why agents play no more in this run, by version."""
        return {v: tally.set_aside for v, tally in self.tallies.items() if tally.set_aside}

    @property
    def known_usd(self) -> float:
        """Return what this run cost, failed tries included, as far as it is known."""
        return usd(sum(tally.account.known for tally in self.tallies.values()))

    @property
    def unknown_usd(self) -> float:
        """Return what calls whose cost will not be known can have cost, beside `known_usd`."""
        return usd(sum(tally.account.unknown for tally in self.tallies.values()))

    @property
    def priced(self) -> bool:
        """Whether `known_usd` is all that it cost."""
        return all(tally.cost_usd is not None for tally in self.tallies.values())

    def lose(self, unwritten: Iterable[Played]) -> None:
        """Take from the counts what was played and cannot be written."""
        for row in unwritten:
            planned = replayed_block(row.replicate) is None
            self.played -= planned
            self.replayed -= not planned

    def end_early(self, cause: Cause, why: str) -> None:
        """Note what ends the run, unless something else did before; a bug goes before all else."""
        if self.cause is None or (cause is Cause.BUG and self.cause is not Cause.BUG):
            self.cause, self.trouble = cause, why

    def to_json(self) -> dict[str, object]:
        """Return the object that `run-tournament --json` prints, but for what needs attention."""
        keys = ("design", "planned", "already", "played", "void", "left")
        return {
            **{key: getattr(self, key) for key in keys},
            "seconds": round(self.seconds, 3),
            "withdrawn": self.withdrawn,
            "interrupted": self.interrupted,
            "ended_early": self.cause,
            "void_by_reason": dict(self.void_by_reason),
            "cost_usd": self.known_usd if self.priced else None,
            "known_cost_usd": self.known_usd,
            "unknown_at_most_usd": self.unknown_usd,
            "agents": [tally.to_json() for tally in self.tallies.values()],
        }
