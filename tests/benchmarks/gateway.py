"""What the arena adds to calls of a model: a tournament, against LiteLLM's calls of the same requests.

    python -m tests.benchmarks.gateway

plays two models against two scripted buyers in the eight open domains, 256 matches at once, against a
server on loopback that answers after 200 ms: all of a tournament, from the prompt to the committed
match; then again under a budget, and with a cache. The same requests, as many at once, are sent by plain
``litellm.acompletion``, which logs them afterwards, as far as it gets to; until all are logged; and as
the arena calls it, without that logging and with less search for garbage. Each is a process of its own
on one processor, the server another. Printed are requests a second, by processor time and by the clock,
their ratio to plain LiteLLM's in the same round, and how memory grew over the second half of the
tournament. On a busy machine the clock says little. ARENA_BENCHMARKS names a file to write the figures
to as JSON.
"""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

from agents.agent import Usage
from agents.build import build
from agents.language_model import model_spec
from agents.language_model.gateway import Answered, Gateway
from agents.language_model.library import NO_KEY, library, loaded, unlogged
from agents.language_model.request import Completion, Request
from agents.spec import AgentSpec, Connection, Profile
from arena.design import Design, DesignDomain, Player
from arena.lineup import Lineup
from arena.record import utc_now
from arena.registry import scripted
from arena.schedule import plan
from arena.store import Filter, Store
from arena.store.agents import Registration
from arena.tournament import Settings, Summary, Tournament
from arena.workers import Setup, Table
from scenarios.catalogue import bundled
from tests.agents.language_model import bargainer
from tests.benchmarks.bargaining_server import bargaining_server
from tests.benchmarks.figures import Figure, show

TOGETHER = int(os.environ.get("ARENA_BENCHMARK_TOGETHER", "256"))
"""Dialogues at once."""
LATENCY_S = 0.2
SCENARIOS = int(os.environ.get("ARENA_BENCHMARK_SCENARIOS", "16"))
"""Of each domain: eight times four times as many matches, of about seven requests each."""
ROUNDS = int(os.environ.get("ARENA_BENCHMARK_ROUNDS", "3"))
MODEL = "hosted_vllm/bargainer"
TEMPERATURES = (0.7, 1.0)
PLAIN = "LiteLLM"
ARENA = "arena"
TOURNAMENTS: Mapping[str, Mapping[str, Any]] = {
    ARENA: {},
    "arena, a budget": {"budget": 1e6},
    "arena, a cache": {"cache": True},
}
LOGGED, UNLOGGED = "LiteLLM, logged", "LiteLLM, unlogged"
CALLS = (PLAIN, LOGGED, UNLOGGED)


class Rehearsal(Gateway):
    """Answers as the server would, and keeps what was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Request] = []

    async def complete(
        self,
        spec: AgentSpec,
        connection: Connection,
        messages: Sequence[Mapping[str, str]],
        schema: Mapping[str, Any] | None = None,
    ) -> Answered:
        """Return the model's answer."""
        request = Request(spec, list(messages), schema)
        self.asked.append(request)
        text = bargainer.answer([dict(message) for message in messages])
        return Answered(Completion(text, "", None, Usage(), None), request)


def lineup(address: str, scenarios: int) -> Lineup:
    """Return two models that sell to two scripted buyers in every open domain, at registered prices."""
    connection = Connection(api_base=address, input_usd_per_million=1.0, output_usd_per_million=2.0)
    sellers = [
        Registration(
            name=f"bargainer at {temperature}",
            spec=model_spec(MODEL, {"temperature": temperature, "max_tokens": 512}),
            role="seller",
            profile=Profile(),
            connection=connection,
            registered_at=utc_now(),
        )
        for temperature in TEMPERATURES
    ]
    buyers = [scripted("boulware"), scripted("conceder")]
    agents = {agent.spec.version: agent for agent in (*sellers, *buyers)}
    built = {version: build(agent.spec, agent.connection) for version, agent in agents.items()}
    domains = [domain for domain in bundled().values() if not domain.held_out]

    def players(side: Sequence[Registration]) -> tuple[Player, ...]:
        versions = [(agent.name, agent.spec.version) for agent in side]
        return tuple(
            Player(name=name, version=version, deterministic=built[version].deterministic)
            for name, version in versions
        )

    design = Design(
        sellers=players(sellers),
        buyers=players(buyers),
        domains=tuple(DesignDomain(name=d.name, version=d.version, held_out=False) for d in domains),
        scenarios=scenarios,
    )
    return Lineup(design, agents, built, {domain.version: domain for domain in domains})


def requests(scenarios: int) -> list[Request]:
    """Return all requests that the tournament makes."""
    played, gateway = lineup("http://nowhere", scenarios), Rehearsal()
    agents = {v: (agent.spec, agent.connection) for v, agent in played.agents.items()}
    table = Table(Setup(played.design, played.domains, agents), gateway)

    async def all_matches() -> None:
        for place in plan(played.design):
            await table.play_async(place)

    asyncio.run(all_matches())
    return gateway.asked


class Memory:
    """What a tournament holds as it goes on."""

    def __init__(self) -> None:
        self._noted: list[tuple[int, float]] = []

    def note(self, summary: Summary) -> None:
        """Note the MB in use after so many matches."""
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        self._noted.append((summary.played, pages * os.sysconf("SC_PAGE_SIZE") / 1e6))

    def figures(self) -> dict[str, float]:
        """Return the MB in use at the end, and by how many they grew over the second half, for every
        1,000 matches."""
        matches, mb = self._noted[-1]
        before, mb_before = next(noted for noted in self._noted if 2 * noted[0] >= matches)
        grown = 1000 * (mb - mb_before) / max(1, matches - before)
        return {"mb": mb, "mb_grown_per_1000": grown}


def warm_up(acompletion: Callable[..., Any], address: str) -> None:
    """Make one call: the first has LiteLLM load the rest of itself."""
    said = [{"role": "user", "content": "Good morning."}]
    asyncio.run(acompletion(model=MODEL, messages=said, api_base=address, api_key=NO_KEY))


def tournament(address: str, together: int, scenarios: int, **how: Any) -> dict[str, Any]:
    """Play the tournament; return its figures."""
    warm_up(library().acompletion, address)
    memory, played = Memory(), lineup(address, scenarios)
    with tempfile.TemporaryDirectory() as folder, Store.open(f"{folder}/arena.db") as store:
        run = Tournament(store, played, Settings(concurrency=together, **how))
        taken = _timed(lambda: run.run(memory.note))
        rows, costs = store.matches(Filter()), store.costs()
    return {
        **taken,
        **memory.figures(),
        "requests": sum(cost.calls + cost.cached for cost in costs),
        "matches": len(rows),
        "agreements": sum(row.ending == "agreement" for row in rows),
    }


def bare(address: str, together: int, scenarios: int, name: str) -> dict[str, Any]:
    """Send the tournament's requests by themselves, in one of the ways of CALLS; return the figures."""
    asked, ours = requests(scenarios), name == UNLOGGED
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else it fetches its map of prices
    if ours:
        library()
    import litellm
    from litellm.litellm_core_utils.logging_worker import GLOBAL_LOGGING_WORKER as worker

    warm_up(litellm.acompletion, address)
    waiting: Iterator[Request] = iter(asked)

    async def one_after_another() -> None:
        for request in waiting:
            with unlogged() if ours else nullcontext():
                await litellm.acompletion(**request.arguments, api_base=address, api_key=NO_KEY)

    async def all_requests() -> None:
        await asyncio.gather(*(one_after_another() for _ in range(together)))
        if name == LOGGED:
            await worker.flush()

    with loaded() if ours else nullcontext():
        return {**_timed(lambda: asyncio.run(all_requests())), "requests": len(asked)}


def _timed(work: Callable[[], object]) -> dict[str, float]:
    clock, cpu = time.perf_counter(), time.process_time()
    work()
    return {"seconds": time.perf_counter() - clock, "cpu_seconds": time.process_time() - cpu}


def measured(name: str, address: str, together: int, scenarios: int) -> dict[str, Any]:
    """Return the figures of one way, from a process of its own."""
    how = [name, address, str(together), str(scenarios)]
    command = [sys.executable, "-m", "tests.benchmarks.gateway", *how]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{name} failed:\n{done.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    for what, seconds in (("rate", "cpu_seconds"), ("clock_rate", "seconds")):
        found[what] = found["requests"] / found[seconds]
    return found


def compare(
    together: int = TOGETHER, scenarios: int = SCENARIOS, rounds: int = ROUNDS
) -> dict[str, Any]:
    """Measure all ways, in turns; return every round's figures and the medians of their ratios."""
    names = (*CALLS, *TOURNAMENTS)
    with bargaining_server(LATENCY_S) as address:
        found = [{n: measured(n, address, together, scenarios) for n in names} for _ in range(rounds)]
    ratios = {
        what: {n: [each[n][what] / each[PLAIN][what] for each in found] for n in names}
        for what in ("rate", "clock_rate")
    }
    return {
        "together": together,
        "load": os.getloadavg()[0],
        "rounds": found,
        "ratios": ratios["rate"],
        "clock_ratios": ratios["clock_rate"],
        "ratio": median(ratios["rate"][ARENA]),
        "clock_ratio": median(ratios["clock_rate"][ARENA]),
    }


def table(result: Mapping[str, Any]) -> str:
    """Return the figures as lines: of rates the medians, of ratios by processor time their range too."""
    lines = [
        f"{result['together']} at once, {LATENCY_S:g} s of latency, load {result['load']:.1f}",
        f"{'':18}{'a CPU-second':>13}{'ratio':>8}{'range':>16}{'a second':>10}{'ratio':>8}"
        f"{'MB':>7}{'MB/1,000 matches':>18}",
    ]
    for name, ratios in result["ratios"].items():
        each = [found[name] for found in result["rounds"]]
        rate, clock = (median(one[what] for one in each) for what in ("rate", "clock_rate"))
        line = f"{name:18}{rate:13.0f}{median(ratios):8.2f}{min(ratios):8.2f} to {max(ratios):<6.2f}"
        line += f"{clock:8.0f}{median(result['clock_ratios'][name]):8.2f}"
        if "mb" in each[0]:
            mb, grown = (median(one[what] for one in each) for what in ("mb", "mb_grown_per_1000"))
            line += f"{mb:7.0f}{grown:18.1f}"
        lines.append(line)
    return "\n".join(lines)


def shown(result: Mapping[str, Any]) -> list[Figure]:
    """Return what a tournament makes of LiteLLM's requests a CPU-second: medians of the rounds."""
    peer = f"litellm.acompletion {version('litellm')}"
    conditions = (
        f"{result['together']} at once, {LATENCY_S:g} s of latency, {len(result['rounds'])} rounds"
    )

    def rate(name: str) -> float:
        return median(each[name]["rate"] for each in result["rounds"])

    return [
        Figure(
            f"calls of a model, all of a tournament: {name}",
            rate(name),
            "requests / CPU s",
            peer,
            rate(PLAIN),
            median(result["ratios"][name]),
            least=0.9 if name == ARENA else None,
            conditions=conditions,
        )
        for name in TOURNAMENTS
    ]


def main() -> None:
    """Print the table; write the JSON where ARENA_BENCHMARKS says. With arguments: measure one way."""
    if len(sys.argv) == 1:
        result = compare()
        show(table(result), result, shown(result))
        return
    name, address, together, scenarios = sys.argv[1:]
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:1])
    if name in TOURNAMENTS:
        found = tournament(address, int(together), int(scenarios), **TOURNAMENTS[name])
    else:
        found = bare(address, int(together), int(scenarios), name)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
