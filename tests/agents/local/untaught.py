"""Gemma 4 models of both families with random weights, saved as a checkpoint is: they talk rubbish, and
that is all that tests of the machinery need."""

from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from agents.language_model.prompt import templates
from agents.local.weights import Weights, weights_hash

FAMILIES = ("E-series", "conventional")


@cache
def untaught(family: str, seed: int = 0) -> Weights:
    """Return weights of two layers, made once; nobody writes into their folder."""
    from tests.trainers.small_run import OWN, SHAPE
    from trainers.tiny import model_of, tokenizer_of

    folder = Path(mkdtemp(prefix="untaught-"))
    texts = [template.template for template in templates("brief1").values()]
    tokenizer = tokenizer_of(["user\n", "model\n", *texts], 320)
    # vLLM's attention on a CPU takes no smaller heads.
    heads = {"head_dim": 32, "global_head_dim": 32}
    model = model_of(family, len(tokenizer), seed, **SHAPE | OWN[family] | heads)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return Weights(folder, weights_hash(folder))
