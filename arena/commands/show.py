"""`arena show`: one match as a script."""

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any

import typer

from arena.commands.options import AsJson, Db, open_store
from arena.errors import UserError

if TYPE_CHECKING:
    from arena.commands.naming import Naming
    from arena.play import Attempt, Turn
    from arena.store import Listed, Store
    from scenarios.scenario import Scenario


def show(
    match: Annotated[str, typer.Argument(metavar="MATCH", help="Its key, or how the key starts.")],
    void: Annotated[
        bool, typer.Option("--void", help="Its last void attempt instead of the scored match.")
    ] = False,
    db: Db = None,
    as_json: AsJson = False,
) -> None:
    """Print a match: every turn with its private reasoning and faulty answers, both utilities, and
    where perfectly informed parties might have ended."""
    from arena.commands.naming import Naming
    from arena.commands.printing import print_json

    with open_store(db) as store:
        row = _found(store, match, void)
        scenario = store.scenarios([row.scenario_key])[row.scenario_key]
        naming, turns = Naming(store, None), store.turns(row)
        receipts = store.receipts(row)
        if as_json:
            print_json(_json(store, row, scenario, naming, turns))
            return
    for line in (*_script(row, scenario, naming, turns), *_sent_lines(receipts)):
        typer.echo(line)


def _found(store: "Store", key: str, void: bool) -> "Listed":
    from arena.store import StoreError

    try:
        return store.match(key, voids=void)
    except StoreError as error:
        if not void:
            with suppress(StoreError):
                store.match(key, voids=True)
                raise UserError(f"{key} has void attempts only: --void shows the last one") from None
        raise UserError(str(error)) from None


def _json(
    store: "Store", row: "Listed", scenario: "Scenario", naming: "Naming", turns: "list[Turn]"
) -> dict[str, Any]:
    from arena.commands.matches import match_json
    from leaderboard.replay import turns_content

    return match_json(row, naming, scenario) | {
        "walk_away": {"seller": scenario.seller.walk_away, "buyer": scenario.buyer.walk_away},
        "reference_points": {
            name: None if point is None else {"seller": point[0], "buyer": point[1]}
            for name, point in _points(scenario).items()
        },
        "detail": row.detail,
        "turn_timeout_s": row.turn_timeout_s,
        "started_at": row.started_at,
        "seconds": row.seconds,
        "receipts": store.receipts(row),
        "turns": turns_content(turns, scenario),
    }


def _points(scenario: "Scenario") -> dict[str, tuple[float, float] | None]:
    from scenarios.frontier import reference_points

    points = reference_points(scenario)
    named = {
        "nash": points.nash,
        "kalai": points.kalai,
        "kalai_smorodinsky": points.kalai_smorodinsky,
        "utilitarian": points.utilitarian,
    }
    return {name: None if p is None else (p.seller, p.buyer) for name, p in named.items()}


def _script(row: "Listed", scenario: "Scenario", naming: "Naming", turns: "list[Turn]") -> Iterator[str]:
    from arena.disclosures import Disclosures
    from arena.printable import plain
    from arena.replays import replayed_block
    from leaderboard.replay import cached_answers
    from scenarios.scenario import Role

    names = {
        Role.SELLER: plain(naming.name(Role.SELLER, row.seller_version)),
        Role.BUYER: plain(naming.name(Role.BUYER, row.buyer_version)),
    }
    attempt = f", void attempt {row.attempt}" if row.attempt else ""
    yield f"Match {row.key}{attempt}"
    yield f"{names[Role.SELLER]} (seller) and {names[Role.BUYER]} (buyer) on {row.scenario}"
    if (block := replayed_block(row.replicate)) is not None:
        yield f"Played once more after block {block}, for drift: it is in no score"
    if row.withdrawn_at is not None:
        yield f"WITHDRAWN on {row.withdrawn_at[:10]}: {plain(row.withdrawn_reason or '')}"
    yield ""
    before: dict[Role, set[tuple[str, str]]] = {role: set() for role in Role}
    stated = Disclosures(scenario).of(turns)
    for number, (turn, discloses) in enumerate(zip(turns, stated, strict=True), 1):
        mark = "  ! discloses: states its own private numbers" if discloses else ""
        yield f"{number}. {turn.role.value.upper()} ({names[turn.role]}){mark}"
        yield from _turn_lines(turn, scenario, before[turn.role])
    yield from _outcome_lines(row, scenario, cached_answers(turns))


def _turn_lines(turn: "Turn", scenario: "Scenario", before: set[tuple[str, str]]) -> Iterator[str]:
    """Yield what was thought, said and done; of an offer, what differs from the side's last one."""
    from leaderboard.replay import chip, offered_terms

    for attempt in turn.attempts:
        yield from _attempt_lines(attempt)
    if turn.reasoning:
        yield from _indented("(thinks, in private) " + turn.reasoning)
    if turn.message:
        yield from _indented(f'"{turn.message}"')
    terms = offered_terms(turn, scenario)
    new = [term for term in terms if term[:2] not in before]
    as_before = "" if not terms or not before else ", as before" + (" but for" if new else "")
    yield f"   > {chip(turn, scenario)}{as_before}"
    width = max((len(name) for name, _, _ in new), default=0)
    for name, option, default in new:
        yield f"     {name:<{width}}  {option}{' (left at its default)' if default else ''}"
    if terms:
        before.clear()
        before.update((name, option) for name, option, _ in terms)
    yield ""


def _attempt_lines(attempt: "Attempt") -> Iterator[str]:
    """Yield a faulty answer whole; the answer that counted is in its turn already."""
    if attempt.fault is None:
        return
    yield f"   ! {attempt.fault.value}: {attempt.fault.description}"
    if attempt.reasoning:
        yield from _indented("(thinks, in private) " + attempt.reasoning, "     ")
    yield from _indented(attempt.text or "(no text)", "     | ")


def _sent_lines(receipts: "dict[str, Any]") -> Iterator[str]:
    """Yield what was effectively sent to each side that says so."""
    from arena.printable import plain
    from leaderboard.receipt_words import receipt_words

    for side, receipt in receipts.items():
        yield f"sent to the {side}: {plain(receipt_words(receipt))}"


def _indented(text: str, margin: str = "   ") -> Iterator[str]:
    from arena.printable import plain

    for line in plain(text, lines=True).split("\n"):
        yield margin + line


def _outcome_lines(row: "Listed", scenario: "Scenario", cached: int) -> Iterator[str]:
    from arena.printable import plain
    from leaderboard.void_words import trouble
    from leaderboard.wording import counted

    fault = f", {row.at_fault} at fault" if row.at_fault else ""
    if row.attempt:
        fault += f" ({trouble(row.ending, row.trouble)})"
    detail = f": {plain(row.detail)}" if row.detail else ""
    yield f"{row.ending.upper()}{fault}{detail}"
    yield ""
    yield f"{'':<19} seller  buyer"
    seller, buyer = scenario.seller.walk_away, scenario.buyer.walk_away
    for name, point in {
        "score": None if row.seller_utility is None else (row.seller_utility, row.buyer_utility or 0.0),
        "walk-away value": (seller, buyer),
        **{name.replace("_", "-"): point for name, point in _points(scenario).items()},
    }.items():
        shown = "      –       –" if point is None else f"{point[0]:>7.4f} {point[1]:>7.4f}"  # noqa: RUF001
        yield f"{name:<18} {shown}"
    yield ""
    tokens = "" if row.tokens is None else f", {counted(row.tokens, 'token')}"
    if cached:
        tokens += f" ({counted(cached, 'answer')} from the cache)"
    cost = "" if row.cost_usd is None else f", ${row.cost_usd:.4f}"
    took = f"{counted(row.turns, 'turn')} in {row.seconds:.3f} s{tokens}{cost}"
    yield f"{took}; begun {row.started_at[:19]} UTC"
