"""Drawing tokens so that each answer of a batch has a random stream and settings of its own."""

from collections.abc import Sequence
from random import Random

import torch
from transformers import LogitsProcessor

from agents.local.request import Request


class Draw(LogitsProcessor):
    """Chooses the next token of every row, by making it the only possible one.

    A row's k-th token is where the k-th number of its own `Random(seed)` falls in the cumulated
    probabilities: so an answer depends on its seed and its logits, never on who else is in the batch.
    """

    def __init__(self, requests: Sequence[Request], device: torch.device) -> None:
        settings = [request.sampling for request in requests]

        def column(values: Sequence[float]) -> torch.Tensor:
            return torch.tensor(values, dtype=torch.float64, device=device)[:, None]

        self._streams = [Random(request.seed) for request in requests]
        self._greedy = [given.temperature == 0 for given in settings]
        self._temperature = column([given.temperature or 1.0 for given in settings])
        self._top_p = column([given.top_p for given in settings])
        self._top_k = column([given.top_k or float("inf") for given in settings])
        self._cuts = any(given.top_p < 1 or given.top_k for given in settings)

    def __call__(self, input_ids: torch.LongTensor, scores: torch.FloatTensor) -> torch.FloatTensor:
        """Return scores [rows, vocabulary] that are 0 at the chosen tokens and -inf elsewhere."""
        chosen = scores.argmax(-1, keepdim=True)
        if not all(self._greedy):
            greedy = torch.tensor(self._greedy, device=scores.device)[:, None]
            chosen = torch.where(greedy, chosen, self._drawn(scores))
        return torch.full_like(scores, float("-inf")).scatter_(1, chosen, 0.0)

    def _drawn(self, scores: torch.Tensor) -> torch.Tensor:
        """Return one drawn token a row, [rows, 1]."""
        chance = (scores.double() / self._temperature).softmax(-1)
        if self._cuts:
            chance = torch.where(chance >= self._least(chance), chance, 0.0)
        heap = chance.cumsum(-1)
        draws = torch.tensor([stream.random() for stream in self._streams], device=heap.device)
        place = torch.searchsorted(heap, draws[:, None].double() * heap[:, -1:], right=True)
        return place.clamp(max=scores.shape[-1] - 1)

    def _least(self, chance: torch.Tensor) -> torch.Tensor:
        """Return the least probability, [rows, 1], that a token keeps: under top-k, and then under
        top-p of what that left."""
        falling = chance.sort(-1, descending=True).values
        rank = torch.arange(chance.shape[-1], device=chance.device)
        falling = torch.where(rank < self._top_k, falling, 0.0)
        before = falling.cumsum(-1) - falling
        kept = (falling > 0) & (before < self._top_p * falling.sum(-1, keepdim=True))
        return falling.masked_fill(~kept, float("inf")).amin(-1, keepdim=True)
