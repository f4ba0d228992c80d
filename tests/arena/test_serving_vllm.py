"""A vLLM server that the arena starts for a seller, by the command line, where vLLM is installed.

On a CPU it needs ``VLLM_CPU_KVCACHE_SPACE=1 VLLM_CPU_OMP_THREADS_BIND=nobind``, and a minute or two.
"""

import json
from importlib.util import find_spec
from pathlib import Path

import pytest

pytest.importorskip("trl", reason="tiny models need pip install 'bargaining-arena[train]'")

from tests.agents.local.test_vllm import ON_A_CPU, children
from tests.agents.local.untaught import untaught
from tests.arena.running import arena

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(find_spec("vllm") is None, reason="needs pip install 'bargaining-arena[vllm]'"),
]


def test_a_served_seller_plays_and_its_server_is_stopped(tmp_path: Path) -> None:
    before = children()
    done = arena(
        *("register", "tiny", "--weights", untaught("E-series").folder, "--server", "vllm"),
        *("--model", "hosted_vllm/tiny", "--max-tokens", "24", "--prompt", "brief1"),
        *("--server-arg", ON_A_CPU, "--db", "arena.db"),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    done = arena(
        *("run-tournament", "--sellers", "tiny", "--buyers", "conceder", "--domains", "lamps"),
        *("--scenarios", "2", "--turns", "2", "--serve", "--json", "--db", "arena.db"),
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    assert (figures["played"], figures["void"]) == (2, 0)
    assert done.stderr.count("the vllm server of tiny: starting") == 1
    assert children() <= before
    matches = arena("matches", "--json", "--db", "arena.db", cwd=tmp_path).stdout.splitlines()
    key = json.loads(matches[0])["key"]
    shown = json.loads(arena("show", key, "--json", "--db", "arena.db", cwd=tmp_path).stdout)
    assert shown["receipts"]["seller"]["server"] == "vllm"
    assert shown["receipts"]["seller"]["served_model"] == "tiny"
