"""`arena export`: what is read back is what the record holds, in every format."""

import csv
import io
import json
import os
import subprocess
import sys
from datetime import datetime

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from arena.cli import app
from arena.measures import DTYPE, FAULTS, KINDS
from arena.store import Filter, Store
from leaderboard.export import formats
from leaderboard.inference.contrasts import family
from leaderboard.views import downloads
from leaderboard.wording import visible
from scenarios.scenario import SCALE, Role
from tests.arena.running import ROOT
from tests.arena.running import arena as run
from tests.leaderboard.hostile import CONTROL, FORMULA, MARKUP, play_hostile
from tests.leaderboard.tournament import make_design, play_into


@pytest.fixture(scope="module")
def db(tmp_path_factory):
    path = tmp_path_factory.mktemp("export") / "arena.db"
    play_hostile(path)
    return path


@pytest.fixture(scope="module")
def store(db):
    with Store.open(str(db), create=False) as store:
        yield store


def export(*words, db, code=0):
    done = CliRunner().invoke(app, ["export", *map(str, words), "--db", str(db)], env={"ARENA_DB": None})
    assert done.exit_code == code, f"{done.output}\n{done.exception}"
    return done.stdout if code == 0 else done.stderr


def read_csv(text):
    """Read a table as pandas does, with the apostrophes taken away that keep a spreadsheet calm."""
    frame = pd.read_csv(io.StringIO(text), dtype={"key": str, "design": str})
    texts = frame.columns[[pd.api.types.is_string_dtype(frame[name]) for name in frame]]
    return frame.assign(**{name: frame[name].str.removeprefix("'") for name in texts})


def frames(tmp_path, db, *table):
    """Return one table in three ways: from CSV, JSON and Parquet."""
    for form in ("csv", "json", "parquet"):
        export("--format", form, *table, "--force", "--out", tmp_path / f"t.{form}", db=db)
    return (
        read_csv((tmp_path / "t.csv").read_text()),
        pd.DataFrame(json.loads((tmp_path / "t.json").read_text())),
        pd.read_parquet(tmp_path / "t.parquet"),
    )


def same(column, expected):
    """Assert that a column holds `expected`, where None and NaN are nothing."""
    for found, wanted in zip(column, expected, strict=True):
        if wanted is None or wanted != wanted:
            assert pd.isna(found)
        else:
            assert found == pytest.approx(wanted) if isinstance(wanted, float) else found == wanted


def test_matches_read_back_equal_the_stores(tmp_path, db, store):
    stored = store.design()
    wanted = Filter(design=stored.design, withdrawn=True)
    listed = [*store.matches(wanted), *store.matches(wanted, voids=True)]
    names = {role: stored.design.names(role) for role in Role}
    status = ["void" if m.attempt else "withdrawn" if m.withdrawn_at else "scored" for m in listed]
    assert [status.count(one) for one in ("scored", "withdrawn", "void")] == [70, 1, 2]
    for frame in frames(tmp_path, db):
        same(frame.status, status)
        same(frame.confirmatory, [one == "scored" for one in status])
        same(frame.attempt, [match.attempt or None for match in listed])
        same(frame.buyer, [names[Role.BUYER][match.buyer_version] for match in listed])
        for name in ("key", "domain", "scenario", "number", "opener", "replicate", "ending", "at_fault"):
            same(frame[name], [getattr(match, name) for match in listed])
        for name in ("seller_utility", "buyer_utility", "turns", "seller_faults", "seller_cost_usd"):
            same(frame[name], [getattr(match, name) for match in listed])
        held_out = {domain.version: domain.held_out for domain in stored.design.domains}
        same(frame.held_out, [held_out[match.domain_version] for match in listed])
        times = pd.to_datetime(frame.started_at, utc=True, format="ISO8601")
        same(times, [datetime.fromisoformat(match.started_at) for match in listed])
    sellers = [names[Role.SELLER][match.seller_version] for match in listed]
    for frame in frames(tmp_path, db)[1:]:
        same(frame.seller, sellers)


def test_what_was_played_before_the_freeze_is_not_confirmatory(tmp_path):
    path = tmp_path / "arena.db"
    old = make_design(("boulware",), ("linear",), scenarios=2)
    play_into(path, old)
    wider = make_design(("boulware", "logroller"), ("linear",), scenarios=2)
    play_into(path, wider)
    frame = read_csv(export("--format", "csv", "--design", wider.hash, db=path))
    assert set(zip(frame.seller, frame.confirmatory, strict=True)) == {
        ("boulware", False),
        ("logroller", True),
    }
    with Store.open(str(path)) as store:
        results = store.results(wider)
    fresh = dict(zip(results.key_M, results.fresh_M, strict=True))
    assert frame.confirmatory.tolist() == [fresh[key] for key in frame.key]
    assert read_csv(export("--format", "csv", "--design", old.hash, db=path)).confirmatory.all()


def test_measures_read_back_are_the_stores_in_units_of_utility(tmp_path, db, store):
    results = store.results(store.design().design)
    measures = dict(zip(results.key_M, results.measures_M, strict=True))
    for frame in frames(tmp_path, db):
        scored = frame[frame.status == "scored"]
        rows = np.array([measures[key] for key in scored.key], DTYPE)
        for place, side in enumerate(("seller", "buyer")):
            np.testing.assert_allclose(scored[f"{side}_walk_away"], rows["walk_away"][:, place] / SCALE)
            for field in ("turns", "messages", "leaks", "faulty_turns"):
                assert scored[f"{side}_{field}"].tolist() == rows[field][:, place].tolist()
            for at, kind in enumerate(KINDS):
                got = rows["by_kind"][:, place, at] / SCALE
                np.testing.assert_allclose(scored[f"{side}_by_kind_{kind.value}"], got)
            for at, fault in enumerate(FAULTS):
                counted = rows["faults"][:, place, at].tolist()
                assert scored[f"{side}_faults_{fault.value}"].tolist() == counted
        opened = np.where(rows["opening"][:, 0] < 0, np.nan, rows["opening"][:, 0] / SCALE)
        np.testing.assert_allclose(scored["seller_opening"].astype(float), opened)
        np.testing.assert_allclose(scored["distance"].astype(float), rows["distance"])
        deal = scored["deal"].notna()
        by_kind = sum(scored[f"seller_by_kind_{kind.value}"] for kind in KINDS)
        np.testing.assert_allclose(by_kind[deal], scored["seller_utility"][deal])
        void = frame[frame.status == "void"]
        for nothing in ("surplus", "seller_turns", "buyer_leaks", "seller_by_kind_mixed", "terms"):
            assert void[nothing].isna().all()


def test_deals_are_the_agreed_options(tmp_path, db, store):
    _, from_json, parquet = frames(tmp_path, db)
    listed = CliRunner().invoke(app, ["matches", "--json", "--db", str(db)]).stdout.splitlines()
    deals = {match["key"]: match["deal"] for match in map(json.loads, listed)}
    for row in from_json[from_json.status == "scored"].itertuples():
        assert row.deal == deals[row.key]
    for row in parquet[parquet.status == "scored"].itertuples():
        assert (None if pd.isna(row.deal) else json.loads(row.deal)) == deals[row.key]
    assert parquet.dtypes["started_at"] == "datetime64[us, UTC]"


def test_the_boards_rows_are_those_of_standings(tmp_path, db):
    for role in ("seller", "buyer"):
        words = ["standings", "--json", "--role", role, "--db", str(db)]
        nested = json.loads(CliRunner().invoke(app, words).stdout)
        for frame in frames(tmp_path, db, "--table", "board", "--role", role):
            same(frame.version, [row["version"] for row in nested])
            for name in ("score", "low", "high", "matches", "planned", "rank_low", "deal_rate"):
                same(frame[name], [row[name] for row in nested])
            for against in nested[0]["by_buyer"]:
                column = f"by_buyer.{against}.score"
                found = frame[column if column in frame else visible(column)]
                same(found, [row["by_buyer"][against]["score"] for row in nested])
            if role == "seller":
                leaks = [row["guards"][0]["value"] for row in nested]
                same(frame["guards.action_leak.value"], leaks)
                gains = [(row["gain"] or {}).get("value") for row in nested]
                same(frame["gain.value"], gains)


def test_contrasts_are_the_declared_family_and_the_other_gains(tmp_path, db, store):
    results = store.results(store.design().design)
    (declared,) = family(results)
    for frame in frames(tmp_path, db, "--table", "contrasts"):
        whole = frame[frame.part == "all"]
        assert whole.declared.tolist() == [True, True, False, False]
        assert whole.panel.tolist() == ["open", "held out"] * 2
        first, apart, other, _ = (row for _, row in whole.iterrows())
        assert first.difference == pytest.approx(declared.estimate.value)
        assert (first.low, first.high) == pytest.approx(declared.interval)
        assert (first.p, first.adjusted_p) == pytest.approx((declared.p, declared.adjusted_p))
        assert (first.cells, first.dropped) == (declared.cells, declared.dropped)
        assert apart.difference == pytest.approx(declared.held_out.estimate.value)
        assert pd.isna(other.adjusted_p)
        assert other.why_exploratory == "not declared in the design"
        by_buyer = frame[(frame.part == "by buyer") & frame.declared]
        expected = {name: one.value for name, one in declared.by_buyer.items()}
        assert dict(zip(by_buyer.of, by_buyer.difference, strict=True)) == pytest.approx(expected)


def test_the_log_is_exported(tmp_path, db, store):
    (entry,) = store.deviations(store.design().design.hash)
    for frame in frames(tmp_path, db, "--table", "deviations"):
        (row,) = frame.to_dict("records")
        assert (row["kind"], row["what"], row["reason"]) == (entry.kind, entry.what, entry.reason)


def test_no_cell_of_a_csv_is_a_formula_or_moves_a_terminal(db):
    for table in ("matches", "board", "contrasts", "deviations"):
        text = export("--format", "csv", "--table", table, db=db)
        assert not {c for c in text if not c.isprintable() and c != "\n"}
        for row in csv.reader(io.StringIO(text)):
            for cell in row:
                is_number = cell.lstrip("-").replace(".", "", 1).replace("e-", "", 1).isdecimal()
                assert is_number or not cell.startswith(("=", "+", "-", "@", "\t", "\r"))
    rows = list(csv.DictReader(io.StringIO(export("--format", "csv", db=db))))
    assert {row["seller"] for row in rows} == {f"'{FORMULA}", MARKUP, "'@bidi\\u202e\\x1b[2J"}
    assert [row["detail"] for row in rows if row["status"] == "void"] == ["'+503 \\x07 overloaded"] * 2
    assert "'-1+1 was <i>wrong</i>" in {row["withdrawn_reason"] for row in rows}


def test_json_is_standard_and_goes_to_stdout(db):
    text = export("--format", "json", db=db)

    def refuse(constant):
        raise AssertionError(constant)

    rows = json.loads(text, parse_constant=refuse)
    assert {row["seller"] for row in rows} == {FORMULA, MARKUP, CONTROL}
    assert len({tuple(row) for row in rows}) == 1
    assert len(text.splitlines()) == len(rows) + 2


def test_no_connection_of_an_agent_is_exported(tmp_path):
    from agents.spec import Connection, Profile
    from arena.record import utc_now
    from arena.store import Registration

    path = tmp_path / "arena.db"
    plan_of = make_design(("boulware",), ("linear",), scenarios=1)
    play_into(path, plan_of)
    with Store.open(str(path)) as store:
        spec = store.spec(plan_of.sellers[0].version)
        where = Connection(api_base="http://10.9.8.7:1234/v1", api_key_env="MY_HIDDEN_KEY")
        store.add_registrations([Registration("boulware", spec, "seller", Profile(), where, utc_now())])
    for form in ("csv", "json", "parquet", "html"):
        out = tmp_path / f"x.{form}"
        export("--format", form, "--out", out, db=path)
        for secret in (b"10.9.8.7", b"MY_HIDDEN_KEY", str(tmp_path).encode()):
            assert secret not in out.read_bytes()


@pytest.mark.parametrize("form", ["csv", "json", "parquet"])
@pytest.mark.parametrize("table", ["matches", "board", "contrasts", "deviations"])
def test_a_design_that_nobody_played_gives_empty_tables(tmp_path, form, table):
    path, out = tmp_path / "arena.db", tmp_path / "out"
    play_into(path, make_design(scenarios=2), skip=lambda place: True)
    export("--format", form, "--table", table, "--out", out, db=path)
    rows = {
        "csv": lambda: pd.read_csv(out),
        "json": lambda: json.loads(out.read_text()),
        "parquet": lambda: pd.read_parquet(out),
    }[form]()
    assert len(rows) == (3 if table == "board" else 0)


def test_a_half_played_design_says_what_is_missing(tmp_path):
    path = tmp_path / "arena.db"
    design = make_design(("boulware", "logroller"), ("linear", "conceder"), scenarios=4)
    gone = design.sellers[1].version
    play_into(path, design, skip=lambda place: place.seller_version == gone and place.number > 1)
    frame = read_csv(export("--format", "csv", "--table", "board", db=path))
    assert dict(zip(frame.agent, frame.missing, strict=True)) == {"boulware": 0, "logroller": 12}
    assert pd.isna(frame.set_index("agent").rank_low["logroller"])
    assert len(read_csv(export("--format", "csv", db=path))) == 36


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("--format html --table board --out x.html", "leave --table out"),
        ("--format parquet", "name it with --out"),
        ("--format html", "name it with --out"),
        ("--format csv --role buyer", "--role chooses a board"),
        ("--format csv --table contrasts --role seller", "--role chooses a board"),
        ("--format csv --out .", "is no file"),
        ("--format csv --out there.csv", "--force"),
        ("--format html --out there.csv", "--force"),
        ("--format csv --out nowhere/x.csv", "cannot write nowhere/x.csv: No such file"),
        ("--format parquet --out nowhere/x.parquet", "cannot write nowhere/x.parquet"),
        ("--format csv --design ffff", "no design"),
        ("--format xml", "xml"),
        ("", "--format"),
        ("--format csv --table agents", "agents"),
    ],
)
def test_mistakes_are_told_in_a_sentence(tmp_path, monkeypatch, db, words, why):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.csv").write_text("mine")
    said = export(*words.split(), db=db, code=2)
    assert why in said
    assert "Traceback" not in said
    assert (tmp_path / "there.csv").read_text() == "mine"
    assert os.listdir(tmp_path) == ["there.csv"]


def test_without_a_database_none_is_made(tmp_path):
    assert "there is no database" in export("--format", "csv", db=tmp_path / "none.db", code=2)
    assert list(tmp_path.iterdir()) == []


def test_force_overwrites_and_a_failure_leaves_the_old_file(tmp_path, db, monkeypatch):
    out = tmp_path / "t.csv"
    out.write_text("old")

    def fails(table, file, tick):
        file.write("half")
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(formats, "write_csv", fails)
        said = export("--format", "csv", "--out", out, "--force", db=db, code=2)
    assert "No space left" in said
    assert out.read_text() == "old"
    assert list(tmp_path.iterdir()) == [out]
    export("--format", "csv", "--out", out, "--force", db=db)
    assert len(read_csv(out.read_text())) == 73


def test_results_are_on_stdout_and_messages_on_stderr(tmp_path, db):
    done = run("export", "--format", "csv", "--db", db, cwd=tmp_path)
    assert done.returncode == 0
    assert done.stderr == ""
    assert len(done.stdout.splitlines()) == 74
    done = run("export", "--format", "csv", "--db", db, "--out", "t.csv", cwd=tmp_path)
    assert (done.stdout, done.stderr) == ("", "Wrote 73 rows to t.csv.\n")
    ascii_only = run("export", "--format", "json", "--db", db, cwd=tmp_path, PYTHONIOENCODING="ascii")
    assert ascii_only.stdout.isascii()
    assert CONTROL in {row["seller"] for row in json.loads(ascii_only.stdout)}


def test_the_columns_documented_are_those_written(db):
    page = (ROOT / "docs" / "board.md").read_text()
    section = page[page.index("## Export") :]
    header = export("--format", "csv", db=db).splitlines()[0].split(",")
    for name in header:
        side = name.removeprefix("seller_").removeprefix("buyer_")
        general = next((f"{p}_…" for p in ("by_kind", "faults") if side.startswith(f"{p}_")), side)
        assert f"`{general}`" in section or f"`{name}`" in section, name


def test_a_long_table_is_not_held_in_memory(tmp_path):
    """Rows come from a generator and are forgotten: 60,000 more of half a KB raise the process
    by little."""
    script = (
        "import resource, sys\n"
        "from leaderboard.export import formats\n"
        "from leaderboard.export.flat import Table\n"
        "from pathlib import Path\n"
        "rows = lambda n: ({'a': 'x' * 500, 'b': i} for i in range(n))\n"
        "out = open(sys.argv[1], 'w')\n"
        "def write(n):\n"
        "    formats.write_csv(Table({'a': str, 'b': int}, rows(n), n), out, lambda k: None)\n"
        "    formats.write_json(Table({'a': str, 'b': int}, rows(n), n), out, lambda k: None)\n"
        "    path = Path(sys.argv[1] + '.parquet')\n"
        "    formats.write_parquet(Table({'a': str, 'b': int}, rows(n), n), path, lambda k: None)\n"
        "    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "small = write(30_000)\n"
        "print(write(90_000) - small)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "t")], capture_output=True, text=True, check=True
    )
    assert int(done.stdout) < 15_000 * (1 if sys.platform == "linux" else 1024)


def test_a_pages_download_is_no_formula_either(monkeypatch):
    offered = {}
    monkeypatch.setattr(
        downloads.st,
        "download_button",
        lambda label, data, name, *rest, **more: offered.update({name: data}),
    )
    rows = [
        {"name": "=cmd|' /C calc'!A0", "+1": -0.5, "more": {"a": [1]}},
        {"name": "\uff0b1", "yes": True},
    ]
    downloads.download("rows", rows, "rows")
    found = list(csv.reader(io.StringIO(offered["rows.csv"])))
    assert found[0] == ["name", "'+1", "more", "yes"]
    assert found[1] == ["'=cmd|' /C calc'!A0", "-0.5", '{"a": [1]}', ""]
    assert found[2] == ["'\uff0b1", "", "", "true"]
    assert json.loads(offered["rows.json"]) == rows
