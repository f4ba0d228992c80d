"""`tiny`: small Gemma 4 models of both architectures, made here, for machines without a GPU.

They are real Gemma 4 text models with random weights and a tokenizer trained on this project's own
transcripts; :mod:`trainers.warm_start` teaches them the protocol.
"""

from collections.abc import Iterable
from importlib import resources
from typing import Any

SPECIAL = (
    *("<pad>", "<eos>", "<bos>", "<unk>", "<|turn>", "<turn|>", "<|think|>", "<|channel>", "<channel|>"),
    *("<|tool>", "<tool|>", "<|tool_call>", "<tool_call|>", "<|tool_response>", "<tool_response|>"),
    '<|"|>',
)
"""Gemma 4's control tokens, at the places where its configuration expects the first three."""
VOCABULARY = 768
_PIECES = r'(?:system|user|model)\n|\n|[{,] ?"[^"\n]*": ?|"[^"\n]*"'
"""What the template puts before a message, a line's end, a key with what leads to it, and a quoted
text. Merges may cross words, so that what is said every time becomes a few tokens, but not these: an
option is the same token wherever it stands, and an answer begins after a token of its own."""
CONTEXT = 2048
SHAPE: dict[str, Any] = {
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 3,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 32,
    "global_head_dim": 32,
    "layer_types": ["sliding_attention", "full_attention", "full_attention"],
    "sliding_window": 512,
    "max_position_embeddings": CONTEXT,
    "final_logit_softcapping": 30.0,
    "initializer_range": 0.1,  # about 1/sqrt(width): 0.02 suits models a hundred times as wide
}
"""Of both architectures, as fields of Gemma 4's configuration."""
OWN: dict[str, dict[str, Any]] = {
    "E-series": {
        "hidden_size_per_layer_input": 16,
        "num_kv_shared_layers": 1,
        "use_double_wide_mlp": True,
    },
    "conventional": {
        "hidden_size_per_layer_input": 0,
        "num_kv_shared_layers": 0,
        "attention_k_eq_v": True,
        "num_global_key_value_heads": 1,
    },
}
"""Of each: per-layer embeddings and shared keys and values, or neither."""


def tokenizer_of(texts: Iterable[str], vocabulary: int = VOCABULARY) -> Any:
    """Return a byte-level BPE tokenizer with Gemma 4's chat template, trained on `texts`."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    found = Tokenizer(models.BPE(unk_token="<unk>"))
    found.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_PIECES), "isolated"),
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    found.decoder = decoders.ByteLevel()
    learn = trainers.BpeTrainer(
        vocab_size=vocabulary,
        special_tokens=list(SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    found.train_from_iterator(texts, learn)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=found,
        pad_token="<pad>",
        eos_token="<eos>",
        bos_token="<bos>",
        unk_token="<unk>",
        padding_side="left",
        additional_special_tokens=["<|turn>", "<turn|>"],
    )
    template = resources.files("trl") / "chat_templates" / "gemma4_v5.jinja"
    tokenizer.chat_template = template.read_text(encoding="utf-8")
    return tokenizer


def model_of(architecture: str, vocabulary: int, seed: int, **changes: Any) -> Any:
    """Return a randomly initialised Gemma 4 of one :data:`OWN` architecture.

    `changes` are fields of its configuration.
    """
    import torch
    from transformers import Gemma4ForCausalLM, Gemma4TextConfig, GenerationConfig

    words = {"vocab_size": vocabulary, "vocab_size_per_layer_input": vocabulary}
    config = Gemma4TextConfig(**words | SHAPE | OWN[architecture] | changes)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = Gemma4ForCausalLM(config)
        # Gemma 4 norms queries and keys and does not scale their products: random ones would attend to
        # single places at random, and so hardly learn. This is the usual 1/sqrt(d) at the start.
        for name, weights in model.named_parameters():
            if name.endswith("q_norm.weight"):
                weights.data.mul_(len(weights) ** -0.5)
    model.generation_config = GenerationConfig(
        bos_token_id=SPECIAL.index("<bos>"),
        eos_token_id=[SPECIAL.index("<eos>"), SPECIAL.index("<turn|>")],
        pad_token_id=SPECIAL.index("<pad>"),
    )
    return model
