"""Drawing: the distribution it draws from, and that nobody else in the batch matters."""

import pytest

torch = pytest.importorskip("torch", reason="needs pip install 'bargaining-arena[train]'")

from transformers import (  # noqa: E402
    LogitsProcessorList,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from agents.local.drawing import Draw  # noqa: E402
from agents.local.request import Request, Sampling  # noqa: E402

DRAWS = 4000


def scores(rows: int, words: int = 30, seed: int = 0):
    return torch.randn(rows, words, generator=torch.Generator().manual_seed(seed)) * 2


def drawn(logits, settings: list[Sampling], seeds: list[int]) -> list[int]:
    requests = [Request((), *pair) for pair in zip(settings, seeds, strict=True)]
    chosen = Draw(requests, torch.device("cpu"))(None, logits)
    assert (chosen == 0).sum(-1).tolist() == [1] * len(logits)
    assert torch.isneginf(chosen).sum() == chosen.numel() - len(logits)
    return chosen.argmax(-1).tolist()


@pytest.mark.parametrize(
    "given",
    [
        Sampling(),
        Sampling(temperature=0.5),
        Sampling(top_k=4),
        Sampling(top_p=0.7),
        Sampling(temperature=1.7, top_p=0.8, top_k=9),
    ],
)
def test_tokens_are_drawn_as_transformers_would(given: Sampling) -> None:
    """Their own warpers say what is cut and how likely the rest is; frequencies follow that."""
    row = scores(1)
    warpers = LogitsProcessorList([TemperatureLogitsWarper(given.temperature)])
    if given.top_k:
        warpers.append(TopKLogitsWarper(given.top_k))
    if given.top_p < 1:
        warpers.append(TopPLogitsWarper(given.top_p))
    chance = warpers(None, row.clone()).softmax(-1)[0]
    found = drawn(row.expand(DRAWS, -1), [given] * DRAWS, list(range(DRAWS)))
    share = torch.bincount(torch.tensor(found), minlength=row.shape[-1]) / DRAWS
    assert set(found) <= set(chance.nonzero()[:, 0].tolist())
    # Four standard errors, and a few draws for tokens that are rare; the seeds are fixed.
    assert ((share - chance).abs() <= 4 * (chance * (1 - chance) / DRAWS).sqrt() + 3 / DRAWS).all()


def test_temperature_0_is_the_likeliest_token_whatever_the_seed() -> None:
    logits = scores(50)
    greedy = [Sampling(temperature=0)] * 50
    assert drawn(logits, greedy, [7] * 50) == logits.argmax(-1).tolist()
    mixed = [Sampling(temperature=0), Sampling()] * 25
    assert drawn(logits, mixed, list(range(50)))[::2] == logits.argmax(-1).tolist()[::2]


def test_a_row_depends_on_its_own_seed_and_logits_only() -> None:
    logits = scores(64)
    settings = [Sampling(temperature=(place % 3) / 2, top_k=place % 5) for place in range(64)]
    together = drawn(logits, settings, list(range(64)))
    alone = [drawn(logits[p : p + 1], [settings[p]], [p])[0] for p in range(64)]
    assert together == alone
    assert drawn(logits, settings, list(range(100, 164))) != together


def test_every_token_of_an_answer_takes_another_draw() -> None:
    draw = Draw([Request((), Sampling(), 3)], torch.device("cpu"))
    flat = torch.zeros(1, 1000)
    assert len({draw(None, flat).argmax().item() for _ in range(20)}) > 15
