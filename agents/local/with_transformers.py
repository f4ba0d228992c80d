"""Weights in this process, run by transformers: one padded batch at a time."""

from collections.abc import Mapping, Sequence
from threading import Event
from typing import Any

import torch
import transformers
from safetensors import SafetensorError
from transformers import (
    AutoModelForCausalLM,
    GenerationConfig,
    LogitsProcessorList,
    StoppingCriteria,
    StoppingCriteriaList,
)

from agents.agent import ProviderError
from agents.local.dialogue import Ids
from agents.local.drawing import Draw
from agents.local.reading import reading
from agents.local.request import Request
from agents.local.weights import Weights, WeightsError

ROWS = 64
"""Answers that are generated together."""


class Loaded:
    """A model in memory: bfloat16 on a GPU, or on several where it needs them, float32 on a CPU."""

    rows, calls = ROWS, 1

    def __init__(self, weights: Weights) -> None:
        """Raise WeightsError where the folder does not hold all of the model's weights, or a file of
        them is damaged."""
        transformers.utils.logging.disable_progress_bar()
        gpu = torch.cuda.is_available()
        try:
            self._model, found = AutoModelForCausalLM.from_pretrained(
                weights.folder,
                dtype=torch.bfloat16 if gpu else torch.float32,
                device_map="auto" if gpu else "cpu",
                output_loading_info=True,
            )
        except SafetensorError as error:
            raise WeightsError(f"its files cannot be read: {error}") from error
        if missing := sorted(found["missing_keys"]):
            raise WeightsError(
                f"its files lack {len(missing)} of the model's weights, {missing[0]} among them"
            )
        self._chat = reading(weights).chat
        # What the folder's own generation config says about sampling must not mix with the agent's.
        self._model.generation_config = GenerationConfig()
        self._stop = Event()
        self.receipt: Mapping[str, Any] = {
            "transformers": transformers.__version__,
            "torch": torch.__version__,
            "dtype": str(self._model.dtype).removeprefix("torch."),
            "device": torch.cuda.get_device_name() if gpu else "cpu",
        }

    def answer(self, requests: Sequence[Request]) -> list[Ids]:
        """Return what was sampled for each request. A batch too large for the memory is halved.

        Raises ProviderError where even one request does not fit, or after :meth:`close`.
        """
        try:
            return self._answered(requests)
        except torch.OutOfMemoryError as error:
            if len(requests) == 1:
                raise ProviderError(f"one answer is too large for the memory: {error}") from error
        torch.cuda.empty_cache()
        half = len(requests) // 2
        return self.answer(requests[:half]) + self.answer(requests[half:])

    def close(self) -> None:
        """Free the memory; a batch that is under way ends at its next token."""
        self._stop.set()
        self._model = None
        torch.cuda.empty_cache()

    def _answered(self, requests: Sequence[Request]) -> list[Ids]:
        model, pad = self._model, self._chat.pad
        width = max(len(request.ids) for request in requests)
        # Padded on the left, so that all rows end where their answers begin.
        rows = [[pad] * (width - len(request.ids)) + list(request.ids) for request in requests]
        mask = [[0] * (width - len(request.ids)) + [1] * len(request.ids) for request in requests]
        with torch.inference_mode():
            whole = model.generate(
                torch.tensor(rows, device=model.device),
                attention_mask=torch.tensor(mask, device=model.device),
                max_new_tokens=max(request.sampling.max_tokens for request in requests),
                do_sample=False,  # Draw decides
                pad_token_id=pad,
                eos_token_id=sorted(self._chat.stops),
                logits_processor=LogitsProcessorList([Draw(requests, model.device)]),
                stopping_criteria=StoppingCriteriaList([_Until(self._stop)]),
            )
        if self._stop.is_set():
            raise ProviderError("the run was stopped")
        return [
            self._ended(ids[: request.sampling.max_tokens])
            for ids, request in zip(whole[:, width:].tolist(), requests, strict=True)
        ]

    def _ended(self, ids: Ids) -> Ids:
        """Return a row's ids up to the one that ends its answer; the rest is padding."""
        end = next((place for place, found in enumerate(ids) if found in self._chat.stops), len(ids))
        return ids[: end + 1]


class _Until(StoppingCriteria):
    """Ends a batch once a flag is set."""

    def __init__(self, flag: Event) -> None:
        self._flag = flag

    def __call__(self, input_ids: Any, scores: Any, **_: Any) -> Any:
        return torch.full((len(input_ids),), self._flag.is_set(), device=input_ids.device)
