"""The tables. Times are ISO 8601 text in UTC; structured content is canonical JSON text.

Migrations, not these classes, make a database: a test holds that the two agree.
"""

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    String,
    Table,
    Text,
    UniqueConstraint,
    text,
)
from sqlmodel import Field, SQLModel


def text_column() -> Column[str]:
    """Return a column of text that must be there."""
    return Column(Text, nullable=False)


def _bytes() -> Column[bytes]:
    return Column(LargeBinary, nullable=False)


def _version(length: int, to: str) -> Column[str]:
    return Column(String(length), ForeignKey(to), nullable=False)


class State(SQLModel, table=True):
    """One row: a number that every write raises, so that readers can tell whether to read again, the
    version of the measures that all matches have, and whether all are packed."""

    __tablename__ = "state"
    __table_args__ = (CheckConstraint("id = 1", name="one_row"),)

    id: int = Field(primary_key=True)
    revision: int
    measures_version: int = Field(sa_column=Column(Integer, nullable=False, server_default="0"))
    packed: int = Field(sa_column=Column(Integer, nullable=False, server_default="0"))
    """The revision at which every match was known to be in a pack. This release's writes raise it with
    the revision, so it lags behind where an older release wrote, or before all is packed."""


class AgentRow(SQLModel, table=True):
    """A behaviour: its version and the spec that the version is the hash of."""

    __tablename__ = "agents"

    version: str = Field(primary_key=True, max_length=12)
    spec: str = Field(sa_column=text_column())
    added_at: str = Field(max_length=32)


class RegistrationRow(SQLModel, table=True):
    """A name given to a version. Rows are added, never changed but for the withdrawal: the newest row
    of a name and version is in force, and the newest active row of a name is what the name means."""

    __tablename__ = "registrations"

    id: int | None = Field(default=None, primary_key=True)
    name: str = Field(sa_column=Column(Text, nullable=False, index=True))
    version: str = Field(sa_column=_version(12, "agents.version"))
    role: str = Field(max_length=6)
    profile: str = Field(sa_column=text_column())
    connection: str = Field(sa_column=text_column())
    registered_at: str = Field(max_length=32)
    withdrawn_at: str | None = Field(default=None, max_length=32)
    withdrawn_reason: str | None = Field(default=None, sa_column=Column(Text))


class DesignRow(SQLModel, table=True):
    """A frozen design, stored before its first match."""

    __tablename__ = "designs"

    hash: str = Field(primary_key=True, max_length=12)
    content: str = Field(sa_column=text_column())
    created_at: str = Field(max_length=32)
    last_run_at: str = Field(max_length=32)
    arena_version: str = Field(max_length=32)


class DomainRow(SQLModel, table=True):
    """A domain as it was when first played."""

    __tablename__ = "domains"

    version: str = Field(primary_key=True, max_length=12)
    name: str = Field(sa_column=text_column())
    content: str = Field(sa_column=text_column())


class ScenarioRow(SQLModel, table=True):
    """A scenario that has been played; `content` is zlib over the JSON of `Scenario.content()`."""

    __tablename__ = "scenarios"
    __table_args__ = (
        UniqueConstraint(
            "domain_version", "split", "number", "feasible", "draw_version", name="one_draw"
        ),
    )

    key: str = Field(primary_key=True, max_length=32)
    label: str = Field(sa_column=text_column())
    domain_version: str = Field(sa_column=_version(12, "domains.version"))
    split: str = Field(max_length=8)
    number: int = Field(sa_type=BigInteger)
    feasible: bool
    draw_version: int
    content: bytes = Field(sa_column=_bytes())


class _PlayedColumns(SQLModel):
    """What a scored match and a void attempt have in common: the fields of `arena.record.Played`."""

    seller_version: str = Field(max_length=12, foreign_key="agents.version")
    buyer_version: str = Field(max_length=12, foreign_key="agents.version")
    scenario_key: str = Field(max_length=32, foreign_key="scenarios.key", index=True)
    opener: str = Field(max_length=6)
    replicate: int
    turns_rule: int | None
    message_limit: int
    protocol: int
    ending: str = Field(max_length=16)
    at_fault: str | None = Field(max_length=6)
    detail: str = Field(sa_type=Text)
    deal: str | None = Field(sa_type=Text)
    seller_utility: float | None
    buyer_utility: float | None
    turns: int
    seller_tokens_in: int | None
    seller_tokens_out: int | None
    seller_cost_usd: float | None
    seller_latency_s: float | None
    seller_faults: int
    buyer_tokens_in: int | None
    buyer_tokens_out: int | None
    buyer_cost_usd: float | None
    buyer_latency_s: float | None
    buyer_faults: int
    turn_timeout_s: float | None
    started_at: str = Field(max_length=32)
    seconds: float
    worker: str = Field(sa_type=Text)
    receipts: str | None = Field(sa_type=Text)
    transcript: bytes = Field(sa_type=LargeBinary)


class MatchRow(_PlayedColumns, table=True):
    """A scored match. Only its withdrawal is ever written after it was inserted."""

    __tablename__ = "matches"
    __table_args__ = (
        Index(
            "ix_matches_withdrawn",
            "key",
            sqlite_where=text("withdrawn_at IS NOT NULL"),
            postgresql_where=text("withdrawn_at IS NOT NULL"),
        ),
    )

    key: str = Field(primary_key=True, max_length=32)
    withdrawn_at: str | None = Field(default=None, max_length=32)
    withdrawn_reason: str | None = Field(default=None, sa_type=Text)


class VoidRow(_PlayedColumns, table=True):
    """An attempt at a match that counts for nobody; `attempt` counts from 1 for each key."""

    __tablename__ = "voids"

    key: str = Field(primary_key=True, max_length=32)
    attempt: int = Field(primary_key=True)
    trouble: str | None = Field(default=None, max_length=16)
    """The kind of the provider's trouble, an `agents.agent.Trouble`; null where it was our own bug, and
    in attempts that older releases kept."""


class BillRow(SQLModel, table=True):
    """What one run of a design has run up at providers."""

    __tablename__ = "bills"

    id: str = Field(primary_key=True, max_length=12)
    design_hash: str = Field(
        sa_column=Column(String(12), ForeignKey("designs.hash"), nullable=False, index=True)
    )
    at: str = Field(max_length=32)
    charged_nano: int = Field(sa_type=BigInteger)
    """What its calls are charged, in billionths of a US dollar: their cost, or their most where the cost
    is not known."""
    ceiling_nano: int | None = Field(default=None, sa_type=BigInteger)
    """Its budget; null where it had none, and of runs of older releases, as what follows."""
    cache: bool | None = None
    drift: float | None = None
    """The share of a base's cells that it was to replay; 0 for none."""


class CallRow(SQLModel, table=True):
    """A call to a model's provider: entered before it is made, settled after it. Amounts are in
    billionths of a US dollar."""

    __tablename__ = "calls"
    __table_args__ = {"sqlite_with_rowid": False}

    bill: str = Field(
        sa_column=Column(String(12), ForeignKey("bills.id"), primary_key=True, nullable=False)
    )
    number: int = Field(primary_key=True)
    """Within its bill, from 1."""
    agent_version: str = Field(sa_column=_version(12, "agents.version"))
    match_key: str | None = Field(default=None, max_length=32)
    """Of a match that may never have been finished."""
    sending: int
    """1 for the first try of a request, 2 for the second."""
    at: str = Field(max_length=32)
    came: str | None = Field(default=None, max_length=8)
    """An `agents.language_model.book.Came`; null while it is under way, and for ever where the process
    was killed then."""
    trouble: str | None = Field(default=None, max_length=16)
    most_nano: int | None = Field(default=None, sa_type=BigInteger)
    """The most that it could cost; null where the price is not known."""
    cost_nano: int | None = Field(default=None, sa_type=BigInteger)
    tokens_in: int | None = None
    tokens_out: int | None = None
    latency_s: float | None = None


class AnswerRow(SQLModel, table=True):
    """An answer of a model under the identity of the request that it answers: the cache."""

    __tablename__ = "answers"

    key: str = Field(primary_key=True, max_length=32)
    content: bytes = Field(sa_column=_bytes())
    """zlib over the JSON of an `agents.language_model.request.Completion`."""
    at: str = Field(max_length=32)


class MeasuresRow(SQLModel, table=True):
    """What was measured on a match's transcript: derived, so that a later release may measure again.
    Apart from `matches`, whose rows are never written again."""

    __tablename__ = "measures"
    __table_args__ = {"sqlite_with_rowid": False}

    key: str = Field(
        sa_column=Column(String(32), ForeignKey("matches.key"), primary_key=True, nullable=False)
    )
    version: int
    """`arena.measures.VERSION` when it was measured."""
    content: bytes = Field(sa_column=_bytes())
    """One row of `arena.measures.DTYPE`."""
    words: str | None = Field(default=None, sa_column=Column(Text))


class PackRow(SQLModel, table=True):
    """Matches once more, as boards read them: derived from `matches` and `measures`, withdrawals apart.
    Each match is in one pack; see `arena.store.packing`."""

    __tablename__ = "packs"
    __table_args__ = {"sqlite_autoincrement": True}

    id: int | None = Field(default=None, primary_key=True)
    """Rises from one transaction to the next."""
    matches: int
    """How many."""
    names: str = Field(sa_column=text_column())
    """JSON of what the numbers in `content` stand for, and which columns are the same throughout."""
    content: bytes = Field(sa_column=_bytes())
    """zlib over the columns of `arena.store.packs.FIELDS`."""
    words: bytes | None = Field(default=None, sa_column=Column(LargeBinary))
    """zlib over the JSON list of each match's words; null where nobody spoke."""


class DeviationRow(SQLModel, table=True):
    """A departure from a frozen design, with its reason. Rows are added, never changed."""

    __tablename__ = "deviations"

    id: int | None = Field(default=None, primary_key=True)
    design_hash: str = Field(
        sa_column=Column(String(12), ForeignKey("designs.hash"), nullable=False, index=True)
    )
    at: str = Field(max_length=32)
    kind: str = Field(max_length=32)
    what: str = Field(sa_column=text_column())
    reason: str = Field(sa_column=text_column())


class AuditRow(SQLModel, table=True):
    """An audit of a buyer, which need not be in `agents`. Rows are added; a buyer's newest counts."""

    __tablename__ = "audits"

    id: int | None = Field(default=None, primary_key=True)
    buyer_version: str = Field(max_length=12, index=True)
    at: str = Field(max_length=32)
    content: str = Field(sa_column=text_column())


def table_of(model: type[SQLModel]) -> Table:
    """Return the SQLAlchemy table of a row's class."""
    table = model.__table__  # type: ignore[attr-defined]
    assert isinstance(table, Table)
    return table


STATE = table_of(State)
AGENTS = table_of(AgentRow)
REGISTRATIONS = table_of(RegistrationRow)
DESIGNS = table_of(DesignRow)
DOMAINS = table_of(DomainRow)
SCENARIOS = table_of(ScenarioRow)
MATCHES = table_of(MatchRow)
VOIDS = table_of(VoidRow)
BILLS = table_of(BillRow)
CALLS = table_of(CallRow)
ANSWERS = table_of(AnswerRow)
MEASURES = table_of(MeasuresRow)
PACKS = table_of(PackRow)
DEVIATIONS = table_of(DeviationRow)
AUDITS = table_of(AuditRow)
