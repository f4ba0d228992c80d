"""What the words on the boards mean, each said once and in plain words."""

from typing import NamedTuple

from leaderboard.metrics import FIRST


class Term(NamedTuple):
    """A word and its meaning."""

    name: str
    meaning: str


class Section(NamedTuple):
    """Terms that belong together."""

    title: str
    terms: tuple[Term, ...]


def _section(title: str, *terms: tuple[str, str]) -> Section:
    return Section(title, tuple(Term(name, " ".join(meaning.split())) for name, meaning in terms))


SECTIONS = (
    _section(
        "What is played",
        (
            "scenario",
            """
            One draw of what both sides want: weights, values, walk-away values and a turn limit.
            All matches on a scenario stand or fall together, so statistics count scenarios, not
            matches: a thousand matches on ten scenarios are ten pieces of evidence.""",
        ),
        (
            "cell",
            """
            A scenario, a buyer, who opens, and a repetition: all that is held equal when two
            sellers are compared.""",
        ),
        (
            "domain",
            """
            What is bargained over, such as a car sale. Its scenarios differ, its terms do not.""",
        ),
        (
            "held-out domain",
            """
            A domain kept apart, for sellers that were trained on others. It is in no pooled score
            and in no rank; its panel has the same statistics.""",
        ),
        (
            "infeasible panel",
            """
            Scenarios on which no deal is worth it for both sides. An agreement there is a mistake.
            It is in no score.""",
        ),
        (
            "walk-away value",
            """
            What a side has without a deal. An agreement below it is worse than none.""",
        ),
    ),
    _section(
        "How good, and how sure",
        (
            "score",
            """
            A side's own utility, from 0 (its worst package) to 1 (its best): the mean over
            opponents of the mean over domains, so that missing matches cannot move it toward one
            opponent. Without a deal it is the walk-away value; for the side that forfeits, 0.""",
        ),
        (
            "interval",
            """
            The values that the evidence leaves, at 95%: drawn anew on other scenarios of the same
            domains, such an interval holds the true score 19 times in 20. It says nothing about
            other domains, other buyers, or another training run. ~ marks one on fewer than 32
            scenarios, which is approximate; on fewer than 5 there is none.""",
        ),
        (
            "rank interval",
            """
            2 to 4 means: at least one agent is detectably better, and all but the first four are
            detectably worse. All pairs are compared at once, so all true ranks lie in their
            intervals in 95% of boards. Two agents whose intervals overlap need not be equal, and
            may be told apart by a contrast of their own.""",
        ),
        (
            "contrast",
            """
            The difference of two sellers on the cells that both completed. Luck of the draw falls
            on both and cancels, so a contrast is sharper than two scores next to each other.""",
        ),
        (
            "gain",
            """
            The contrast of a trained seller with its base, the seller that training began from.""",
        ),
        (
            "p",
            """
            How often a difference this large would come out if there were none. Below 0.05 it is
            called detectable, and then its 95% interval excludes 0. Above, there is no detectable
            difference, which is not the same as none.""",
        ),
        (
            "Holm",
            """
            Who asks twenty questions gets one false yes at 0.05. Holm's correction raises each p by
            how many questions the design declared before play, so that a false yes among all of
            them stays at 5%.""",
        ),
        (
            "confirmatory",
            """
            Declared in the design before the first match, and judged on matches that began after it
            was frozen. All else is exploratory: good for ideas, no evidence of its own.""",
        ),
        (
            "minimal detectable effect",
            """
            The smallest true difference that a comparison of this size finds 4 times in 5. A
            difference below it may exist and stay unseen.""",
        ),
        (
            "bootstrap",
            """
            Another way to an interval: scenarios are drawn again and again from those played. A
            design may ask for it; p stays the one of the t statistic.""",
        ),
        (
            "Bradley-Terry",
            """
            A second view: who wins more often on the same cell, however small the margin. Scores
            come first, because a deal is worth what it is worth.""",
        ),
    ),
    _section(
        "Whether it is real",
        (
            "buyer split",
            """
            A seller's score against one buyer less its score against the other (with more buyers:
            the mean of the others). A gain that is a gain against everyone leaves the split where
            the base has it.""",
        ),
        (
            "pooling alarm",
            """
            Raised where a pooled gain hides that it lives on one buyer: the gain is detectable, the
            split moved detectably from the base's, and either the gain against the weakest buyer is
            not detectable or the move lies beyond 0.05 (ours). A harmless move does not raise it.""",
        ),
        (
            "general gain",
            """
            The gain is above 0 and detectable against every buyer separately.""",
        ),
        (
            "guard",
            """
            A check against hollow gains, with a limit declared before play. The four and their
            limits are ours: messages that leak the JSON action; messages that all begin alike; the
            pooling alarm; deal rate, agreements below the walk-away value and agreements in
            infeasible cells no worse than the base's. Pass: the whole interval is inside the limit.
            Fail: all of it is beyond. Else it is not judged, so too few matches cannot pass.""",
        ),
        (
            "badge",
            """
            On a buyer: training family, it shares a model family with the buyers that arms were
            trained against, so a gain against it may not carry over; exploitable, a fixed policy
            that does not bargain earns over 90% of what it could (ours).""",
        ),
        (
            "deviation",
            """
            What departed from the frozen design: an arm added later, a limit moved, a match taken
            out. It stands in a log that only grows, each with a reason.""",
        ),
    ),
    _section(
        "What went wrong in play",
        (
            "faulty turn",
            """
            A turn in which an answer could not be used. It is asked for again at most twice.""",
        ),
        (
            "disclosure",
            """
            A message that states its speaker's own private numbers: its walk-away value, or what
            an option or an offer gives it, in points. Foolish, but allowed.""",
        ),
        (
            "forfeit",
            """
            A side that gives no usable answer loses: it scores 0, the other its walk-away value.""",
        ),
        (
            "void",
            """
            An attempt that failed through nobody's bargaining, such as a server that did not
            answer. It is in no score and is played again; one that stays void is missing.""",
        ),
        (
            "missing",
            """
            Above 2% of the open matches missing, an agent is not ranked. Below, its score stands,
            and beside it what it would be with every missing match at 0 and at 1.""",
        ),
        (
            "drift",
            """
            What a seller scores on cells that were played once more, later on, less what it scored
            on them first. Where it is not 0, what a provider serves changed in between.""",
        ),
        (
            "deal rate",
            """
            Agreements over scored matches.""",
        ),
    ),
    _section(
        "While a seller is trained",
        *((metric.title, metric.meaning) for metric in FIRST if metric.title != "deal rate"),
        (
            "checkpoint",
            """
            A seller as it was at a step of its training, registered as an agent of its own. It is
            judged by a tournament, never by the curves it was trained on.""",
        ),
    ),
)


def term(name: str) -> Term | None:
    """Return the term with this name, or None."""
    return next((one for section in SECTIONS for one in section.terms if one.name == name), None)
