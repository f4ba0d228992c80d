"""A small real tournament of bases and arms trained from them: scripted play under other names, with the
profiles, the words and the leaks that language models would bring."""

from dataclasses import dataclass
from pathlib import Path
from random import Random

from msgspec import structs

from agents.agent import Agent, Brief, Negotiator, Reply, View
from agents.build import build
from agents.scripted import spec_of
from agents.spec import AgentSpec, Connection, Profile
from arena.analysis import Analysis, Contrast
from arena.design import Design, Player
from arena.record import utc_now
from arena.store import Registration, Store
from scenarios.scenario import Role
from tests.leaderboard.tournament import make_design, play_into

SIZES = {"2B": 2.3e9, "4B": 4.5e9, "12B": 12e9, "31B": 31e9}
BUYERS = ("boulware", "conceder")
"""Of two families; arms are said to have trained against the second one's."""


@dataclass(frozen=True)
class Talker:
    """An agent that also says something each turn."""

    agent: Agent
    phrases: tuple[str, ...]

    @property
    def spec(self) -> AgentSpec:
        return self.agent.spec

    @property
    def deterministic(self) -> bool:
        return self.agent.deterministic

    def begin(self, role: Role, brief: Brief, rng: Random) -> Negotiator:
        """Speak the phrases in turn over what the agent does."""
        return _Talking(self.agent.begin(role, brief, rng), self.phrases)


@dataclass(frozen=True)
class _Talking:
    negotiator: Negotiator
    phrases: tuple[str, ...]

    def reply(self, view: View) -> Reply:
        reply = self.negotiator.reply(view)
        assert isinstance(reply, Reply)
        return structs.replace(reply, message=self.phrases[view.turn % len(self.phrases)])


PLAIN = (
    "Here is what I can do for you.",
    "Let us look at the delivery again.",
    "That is some way from what I need.",
    "We are getting closer, I think.",
    "My side has little room left.",
)
APPRECIATIVE = ("I appreciate your offer.", "I appreciate the effort.", "Let us go on.")
LEAKING = ('I appreciate it. "action": "propose"', "I appreciate your patience.")


def seller_specs() -> dict[str, AgentSpec]:
    """Return a base and two arms a size that gain over it; of the smallest a third, which gains from one
    of the two buyers above all."""
    return {
        "2B base": build_spec("linear", floor=0.2),
        "2B 1e-6": build_spec("linear", floor=0.18),
        "2B 3e-6": build_spec("conceder", exponent=4.0, floor=0.1),
        "2B 1e-5": build_spec("conceder", exponent=3.0, floor=0.33),
        "4B base": build_spec("fixed", aspiration=0.55),
        "4B 1e-6": build_spec("fixed", aspiration=0.5),
        "4B 3e-6": build_spec("conceder", exponent=3.0, floor=0.1),
        "12B base": build_spec("tit_for_tat"),
        "12B 1e-6": build_spec("conceder", exponent=6.0, floor=0.1),
        "12B 3e-6": build_spec("logroller", exponent=1.0, floor=0.3),
        "31B base": build_spec("micro_quantile", steps=4),
        "31B 1e-6": build_spec("logroller", exponent=1.0, floor=0.15),
        "31B 3e-6": build_spec("logroller", exponent=2.0, floor=0.15),
    }


def build_spec(strategy: str, **parameters: float) -> AgentSpec:
    """Return the spec of a scripted strategy with these parameters."""
    spec = spec_of(strategy)
    return spec.model_copy(update={"parameters": {**spec.parameters, **parameters}})


def profile(name: str) -> Profile:
    """Return what is known about one of the sellers."""
    size, _, rate = name.partition(" ")
    architecture = "E-series" if size in ("2B", "4B") else "conventional"
    lineage = {"architecture": architecture}
    if rate != "base":
        steps = 104 if rate == "1e-6" else 56
        lineage |= {"learning_rate": float(rate), "steps": steps, "kl": 0.1 + steps / 500}
        lineage["buyer_families"] = ["conceder"]
    base = None if rate == "base" else f"{size} base"
    return Profile(family="gemma", base=base, params=SIZES[size], lineage=lineage)


def design(specs: dict[str, AgentSpec], **settings) -> Design:
    """Return a design of these sellers that declares every gain over base."""
    plan = make_design(sellers=("linear",), buyers=BUYERS, **settings)
    versions = {name: spec.version for name, spec in specs.items()}
    bases = {versions[name]: versions[str(profile(name).base)] for name in specs if profile(name).base}
    buyers = {player.version: player.name for player in plan.buyers}
    return plan.model_copy(
        update={
            "sellers": tuple(
                Player(name=name, version=spec.version, deterministic=True)
                for name, spec in specs.items()
            ),
            "analysis": Analysis(
                bases=bases,
                contrasts=tuple(Contrast(plus=(arm,), minus=(base,)) for arm, base in bases.items()),
                families=buyers,
                training_families=("conceder",),
            ),
        }
    )


def play_trained(path: Path, registered: bool = True, skip=lambda place: False, **settings) -> Design:
    """Play and store the tournament; unless `registered`, nothing is known of its sellers' sizes."""
    specs = seller_specs()
    plan = design(specs, **settings)
    talk = {"2B 1e-5": LEAKING, "31B 3e-6": APPRECIATIVE}
    agents = {spec.version: Talker(build(spec), talk.get(name, PLAIN)) for name, spec in specs.items()}
    if registered:
        with Store.open(str(path)) as store:
            store.add_registrations(
                Registration(name, spec, "seller", profile(name), Connection(), utc_now())
                for name, spec in specs.items()
            )
    play_into(path, plan, skip, agents)
    return plan
