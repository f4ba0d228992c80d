"""`arena prompt show` prints what a model is sent, and nothing else."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from agents.language_model import model_spec
from agents.language_model.agent import response_format_of
from agents.language_model.prompt import BRIEF_PROMPT, first_messages
from arena.cli import app
from arena.play import briefs
from arena.protocol import Rules
from scenarios.catalogue import find, scenario
from scenarios.scenario import Role

MODEL = "hosted_vllm/m"


@pytest.fixture
def db(tmp_path: Path) -> str:
    return str(tmp_path / "arena.db")


def run(*arguments: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, ["prompt", "show", *arguments])
    return done.exit_code, done.stdout, done.stderr


def test_a_registered_model(db: str) -> None:
    register = ["register", "mine", "--model", MODEL, "--structured", "--max-tokens", "99", "--db", db]
    assert CliRunner().invoke(app, register).exit_code == 0
    code, out, _ = run("mine", "--scenario", "car_sale/eval/3", "--role", "buyer", "--json", "--db", db)
    brief = briefs(find("car_sale"), scenario("car_sale/eval/3"), Rules())[Role.BUYER]
    spec = model_spec(MODEL, {"max_tokens": 99}, structured=True)
    assert code == 0
    assert json.loads(out) == {
        "messages": first_messages(brief),
        "response_format": response_format_of(spec, brief),
    }


def test_a_model_by_its_name_as_text(db: str) -> None:
    code, out, _ = run(MODEL, "--scenario", "car_sale/eval/3", "--turns", "4", "--db", db)
    brief = briefs(find("car_sale"), scenario("car_sale/eval/3"), Rules(turns=4))[Role.SELLER]
    system, user = (message["content"] for message in first_messages(brief))
    assert code == 0
    assert out == f"--- system\n{system}\n\n--- user\n{user}\n"
    assert "exactly 4 turns" in out


def test_another_prompt_version(db: str) -> None:
    code, out, _ = run(
        MODEL, "--scenario", "bread/eval/0", "--prompt", BRIEF_PROMPT, "--json", "--db", db
    )
    brief = briefs(find("bread"), scenario("bread/eval/0"), Rules())[Role.SELLER]
    assert code == 0
    assert json.loads(out)["messages"] == first_messages(brief, BRIEF_PROMPT)
    code, _, err = run(MODEL, "--scenario", "bread/eval/0", "--prompt", "v99", "--db", db)
    assert code == 2
    assert "'v99' is not in this release" in err


@pytest.mark.parametrize(
    ("agent", "label", "says"),
    [
        ("boulware", "car_sale/eval/3", "boulware is not a language model"),
        ("nobody", "car_sale/eval/3", "goes by its LiteLLM name"),
        (MODEL, "car_sale", "write DOMAIN/SPLIT/INDEX"),
        (MODEL, "boat_sale/eval/1", "no domain is called 'boat_sale'"),
    ],
)
def test_mistakes(db: str, agent: str, label: str, says: str) -> None:
    made = ["register", "other", "--model", MODEL, "--db", db]
    assert CliRunner().invoke(app, made).exit_code == 0
    code, out, err = run(agent, "--scenario", label, "--db", db)
    assert (code, out) == (2, "")
    assert says in err
