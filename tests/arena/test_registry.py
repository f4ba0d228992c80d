"""Names, versions, and what makes two agents the same."""

from pathlib import Path

import pytest

from agents.scripted import PANEL_BUYERS, PANEL_SELLERS, spec_of
from agents.spec import AgentSpec
from arena.entry import entry_from, read_file
from arena.errors import UserError
from arena.lineup import request_from, resolve
from arena.registry import Change, Registry, costs_money
from arena.store import Store
from scenarios.scenario import Role


@pytest.fixture
def registry(tmp_path: Path):
    with Store.open(str(tmp_path / "arena.db")) as store:
        yield Registry(store)


def register(registry: Registry, name: str, **fields: object):
    return registry.register([entry_from({"name": name} | fields)])[0]


def model(registry: Registry, name: str = "m", **fields: object):
    return register(registry, name, model="openai/gpt-5", **fields)


def test_what_decides_behaviour_makes_a_version(registry: Registry) -> None:
    settings = [
        {},
        {"temperature": 0},
        {"temperature": 0.7},
        {"seed": 0},
        {"seed": 1},
        {"structured": True},
        {"max_tokens": 100},
        {"revision": "abc"},
        {"sampling": {"stop": ["x"]}},
    ]
    done = [model(registry, **fields) for fields in settings]
    assert [d.change for d in done] == [Change.NEW] + [Change.VERSION] * (len(settings) - 1)
    assert len({d.agent.spec.version for d in done}) == len(settings)
    assert len(registry.known()) == len(settings)
    assert [agent.spec for agent in registry.current()] == [done[-1].agent.spec]


def test_temperature_0_and_seed_0_survive(registry: Registry) -> None:
    model(registry, temperature=0, seed=0)
    spec = registry.find("m").spec
    assert (spec.sampling["temperature"], spec.sampling["seed"]) == (0, 0)
    assert model(registry, temperature=0.0, seed=0).change is Change.UNCHANGED


@pytest.mark.parametrize(
    "beside",
    [
        {"api_base": "http://127.0.0.1:9/v1"},
        {"api_key_env": "OTHER_KEY"},
        {"price_in": 1.5, "price_out": 3},
        {"timeout": 5},
        {"api_base": ["http://127.0.0.1:9/v1", "http://127.0.0.1:10/v1"]},
        {"max_concurrent": 4},
        {"requests_per_minute": 60},
        {"tokens_per_minute": 1e5},
        {"stream": True},
        {"family": "gpt", "params": 4.5e9, "base": "n"},
        {"role": "seller"},
    ],
    ids=lambda beside: next(iter(beside)),
)
def test_what_is_beside_behaviour_does_not(registry: Registry, beside: dict[str, object]) -> None:
    first = model(registry)
    again = model(registry, **beside)
    assert again.change is Change.UPDATED
    assert again.agent.spec == first.agent.spec
    assert len(registry.known()) == 1
    found = registry.find("m")
    assert (found.connection, found.profile, found.role) == (
        again.agent.connection,
        again.agent.profile,
        again.agent.role,
    )
    assert model(registry, **beside).change is Change.UNCHANGED


def test_a_name_points_to_the_newest_and_addresses_the_older(registry: Registry) -> None:
    old = register(registry, "bot", scripted="boulware", set={"exponent": 0.2}).agent
    new = register(registry, "bot", scripted="boulware", set={"exponent": 0.3}).agent
    assert registry.find("bot").spec == new.spec
    assert registry.find(f"bot@{old.spec.version}").spec == old.spec
    assert registry.find(f"bot@{old.spec.version[:7].upper()}").spec == old.spec
    back = register(registry, "bot", scripted="boulware", set={"exponent": 0.2})
    assert back.change is Change.VERSION
    assert registry.find("bot").spec == old.spec
    with pytest.raises(UserError, match="has no version"):
        registry.find("bot@zzz")
    with pytest.raises(UserError, match="did you mean bot"):
        registry.find("bott")


def test_what_a_design_names_is_found_by_its_version(tmp_path: Path) -> None:
    with Store.open(str(tmp_path / "arena.db")) as store:
        registry, panel = Registry(store), spec_of("linear")
        now = registry.as_played("linear", panel.version)
        assert now is not None
        assert (now.name, now.spec) == ("linear", panel)
        assert registry.as_played("linear", "0" * 12) is None
        assert registry.as_played("nobody", panel.version) is None

        # One behaviour under two names: each has its own family; a name that has none takes the newest.
        for name, family in (("mine", "first"), ("theirs", "second")):
            model(registry, name, family=family)
        version = registry.find("mine").spec.version
        asked = [registry.as_played(name, version) for name in ("mine", "theirs", "other")]
        assert [agent and agent.profile.family for agent in asked] == ["first", "second", "second"]
        registry.withdraw("mine", "a mistake")
        gone = registry.as_played("mine", version)
        assert gone is not None
        assert gone.withdrawn_reason == "a mistake"

        # A strategy of the panel as it was played by an older release: only its spec was kept.
        older = AgentSpec.model_validate(panel.model_dump() | {"strategy_version": 0})
        assert registry.as_played("linear", older.version) is None
        wanted = request_from({"sellers": ["linear"], "buyers": ["linear"], "scenarios": 1})
        store.add_design(resolve(wanted, store).design, [older], [])
        played = registry.as_played("linear", older.version)
        assert played is not None
        assert (played.name, played.spec) == ("linear", older)


@pytest.mark.parametrize(
    "name", ["Überhändler", "価格交渉", "Дилер 3", "👩‍🚀 pilot", "a/b\\c:d", "-x", "x" * 200, "‏עברית"]
)
def test_any_unicode_name_works(registry: Registry, name: str) -> None:
    register(registry, name, scripted="linear")
    assert registry.find(name).spec == spec_of("linear")


def test_composed_and_decomposed_names_are_one(registry: Registry) -> None:
    register(registry, "Ame\u0301lie", scripted="linear")
    assert registry.find("Am\u00e9lie").name == "Am\u00e9lie"
    assert register(registry, " Am\u00e9lie ", scripted="linear").change is Change.UNCHANGED


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "needs a name"),
        ("  ", "needs a name"),
        ("a@b", "separates a version"),
        ("a,b", "separates names"),
        ("a\x1b[31m", "U\\+001B"),
        ("a\nb", "U\\+000A"),
        ("a\u202eb", "U\\+202E"),
        ("a\ud800", "U\\+D800"),
        ("x" * 201, "longer"),
    ],
)
def test_names_that_will_not_do(registry: Registry, name: str, why: str) -> None:
    with pytest.raises(UserError, match=why):
        register(registry, name, scripted="linear")
    assert registry.known() == []


def test_a_scripted_name_is_not_hidden(registry: Registry) -> None:
    with pytest.raises(UserError, match="scripted strategy"):
        register(registry, "boulware", scripted="linear")
    with pytest.raises(UserError, match="scripted strategy"):
        model(registry, "boulware")
    register(registry, "boulware", scripted="boulware", role="buyer")
    assert registry.find("boulware").role == "buyer"
    assert registry.find("linear").spec == spec_of("linear")


def test_the_default_line_up(registry: Registry) -> None:
    def names(role: Role) -> list[str]:
        return [agent.name for agent in registry.default(role)]

    assert names(Role.SELLER) == list(PANEL_SELLERS)
    assert names(Role.BUYER) == list(PANEL_BUYERS)
    register(registry, "s", scripted="boulware", set={"exponent": 0.1}, role="seller")
    register(registry, "both", scripted="boulware", set={"exponent": 0.2})
    register(registry, "twin", scripted="linear", role="buyer")
    assert names(Role.SELLER) == ["s", "both", *PANEL_SELLERS]
    # A registered twin of a panel member takes its place: one behaviour plays once.
    assert names(Role.BUYER) == ["both", "twin", *(n for n in PANEL_BUYERS if n != "linear")]
    registry.withdraw("s", "done with it")
    assert "s" not in names(Role.SELLER)


def test_withdrawal_keeps_everything_visible(registry: Registry) -> None:
    old = register(registry, "bot", scripted="boulware", set={"exponent": 0.2}).agent
    new = register(registry, "bot", scripted="boulware", set={"exponent": 0.3}).agent
    registry.withdraw(new.full_name, "it cheats")
    assert registry.find("bot").spec == old.spec
    with pytest.raises(UserError, match="withdrawn: it cheats"):
        registry.find(new.full_name)
    registry.withdraw("bot", "all of it")
    assert registry.current() == []
    reasons = {agent.full_name: agent.withdrawn_reason for agent in registry.known()}
    assert reasons == {new.full_name: "it cheats", old.full_name: "all of it"}
    again = register(registry, "bot", scripted="boulware", set={"exponent": 0.3})
    assert again.change is Change.REINSTATED
    assert registry.find("bot").spec == new.spec
    for who, why in (
        ("nobody", "no agent"),
        ("linear", "scripted strategy"),
        (old.full_name, "withdrawn"),
    ):
        with pytest.raises(UserError, match=why):
            registry.withdraw(who, "x")
    with pytest.raises(UserError, match="reason"):
        registry.withdraw("bot", " ")


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({}, "exactly one of"),
        ({"scripted": "linear", "model": "x/y"}, "exactly one of"),
        ({"scripted": "nope"}, "no scripted strategy"),
        ({"scripted": "linear", "temperature": 0}, "temperature is for models"),
        ({"scripted": "linear", "set": {"colour": 1}}, "no parameter 'colour'"),
        ({"model": "x/y", "set": {"a": 1}}, "sampling settings"),
        ({"model": " "}, "LiteLLM name"),
        ({"model": "x/y", "temperature": -1}, "temperature"),
        ({"model": "x/y", "sampling": {"temperature": 0}}, "field of its own"),
        ({"model": "x/y", "sampling": {"mood": 1}}, "mood"),
        ({"model": "x/y", "colour": 1}, "colour: no such field"),
        ({"model": "x/y", "role": "judge"}, "role"),
        ({"model": "x/y", "api_base": "127.0.0.1:80"}, "full address"),
        ({"model": "x/y", "api_base": ["http://h/v1", "127.0.0.1:80"]}, "full address"),
        ({"model": "x/y", "api_base": ["http://h/v1", "http://u:p@h/v1"]}, "password"),
        ({"model": "x/y", "api_base": []}, "api_base"),
        ({"model": "x/y", "max_concurrent": 0}, "max_concurrent"),
        ({"model": "x/y", "requests_per_minute": 0}, "requests_per_minute"),
        ({"scripted": "linear", "stream": True}, "stream is for models only"),
        ({"model": "x/y", "allow_dropped": ["seed"]}, "seed may be dropped, but is not set"),
        ({"plugin": "nowhere_at_all:Bot"}, "no module"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_entries_that_do_not_hold_together(
    registry: Registry, fields: dict[str, object], why: str
) -> None:
    with pytest.raises(UserError, match=why):
        register(registry, "a", **fields)
    assert registry.known() == []


@pytest.mark.parametrize(
    "fields",
    [
        {"api_key_env": "sk-hunter2-abc"},
        {"api_base": "https://user:hunter2@host/v1"},
        {"api_base": "https://host/v1?api_key=hunter2"},
    ],
)
def test_a_secret_is_refused_and_not_repeated(
    registry: Registry, tmp_path: Path, fields: dict[str, object]
) -> None:
    with pytest.raises(UserError) as caught:
        model(registry, **fields)
    assert "hunter2" not in str(caught.value)
    assert all(b"hunter2" not in file.read_bytes() for file in tmp_path.iterdir())


def test_a_plug_ins_secret_is_refused(registry: Registry) -> None:
    with pytest.raises(UserError, match="environment variable"):
        register(registry, "p", plugin="tests.arena.bots:Slow", set={"api_key": "hunter2"})


@pytest.mark.parametrize(
    "given",
    [
        ["--api-key hunter2"],
        ["--api-key=hunter2"],
        ["--hf-token", "hunter2"],
        ["--max-model-len 4096 --hf_token 'hunter2'"],
        ["--ssl-keyfile-password hunter2"],
    ],
)
def test_a_servers_secret_is_refused_and_not_repeated(
    registry: Registry, tmp_path: Path, given: list[str]
) -> None:
    with pytest.raises(UserError, match=r"never stored: .* variable") as caught:
        register(registry, "s", weights="Qwen/Qwen3-8B", server="vllm", server_args=given)
    assert "hunter2" not in str(caught.value)
    assert registry.known() == []


def test_who_costs_money(registry: Registry) -> None:
    def costs(**fields: object) -> bool:
        return costs_money(model(registry, **fields).agent)

    assert costs()
    assert costs(api_base="https://api.example.com/v1")
    assert costs(price_in=0, price_out=1)
    assert not costs(price_in=0, price_out=0)
    for local in (
        "http://127.0.0.1:8000/v1",
        "http://localhost:1",
        "http://[::1]:1",
        "http://10.1.2.3:1",
    ):
        assert not costs(api_base=local)
        assert costs(api_base=local, price_in=0, price_out=1)  # a gateway to a provider, say
        assert not costs(api_base=local, price_in=0, price_out=0)
    assert not costs_money(registry.find("linear"))


FILE = """
agents:
  - {name: tough, scripted: boulware, set: {exponent: 0.1}, role: buyer}
  - name: mine
    model: hosted_vllm/my-model
    api-base: http://127.0.0.1:8000/v1
    temperature: 0
"""


def test_many_from_a_file(registry: Registry, tmp_path: Path) -> None:
    (tmp_path / "agents.yaml").write_text(FILE)
    done = registry.register(read_file(tmp_path / "agents.yaml"))
    assert [(d.agent.name, d.change) for d in done] == [("tough", "new"), ("mine", "new")]
    assert registry.find("mine").spec.sampling["temperature"] == 0
    assert registry.find("mine").spec == model(registry, "cli", temperature=0).agent.spec.model_copy(
        update={"model": "hosted_vllm/my-model"}
    )


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("[]", "agents:"),
        ("agents: []", "agents:"),
        ("agents: [x]", "agent 1 must be a mapping"),
        ("agents: [{name: a, scripted: linear}, {name: b}]", "b: give exactly one"),
        ("agents: [{name: a, scripted: linear}, {name: a, scripted: linear}]", "stands twice"),
        ("agents: [{name: a, scripted: linear}, {name: 3, scripted: linear}]", "agent 2.*name"),
        ("agents: [{name: a, scripted: linear, colour: x}]", r"agent 1 \(a\): colour"),
        ("agents: [", "not valid YAML"),
    ],
)
def test_a_file_is_registered_whole_or_not_at_all(
    registry: Registry, tmp_path: Path, content: str, why: str
) -> None:
    (tmp_path / "agents.yaml").write_text(content)
    with pytest.raises(UserError, match=why):
        registry.register(read_file(tmp_path / "agents.yaml"))
    assert registry.known() == []


def test_several_addresses_cost_money_where_one_is_far(registry: Registry) -> None:
    near, far = "http://127.0.0.1:9/v1", "https://models.example.com/v1"
    both = model(registry, api_base=[near, far]).agent
    assert (both.connection.api_base, both.connection.api_bases) == (near, (far,))
    assert costs_money(both)
    assert not costs_money(model(registry, api_base=[near, "http://10.0.0.7/v1"]).agent)
