"""The table of sizes against what was published, and against models built from published shapes."""

from collections.abc import Mapping
from typing import Any

import pytest

from trainers.recipe import STUDY, Recipe
from trainers.sizes import SIZES
from trainers.tiny import VOCABULARY, model_of

GLOBAL_5, GLOBAL_6 = 5, 6
"""Every fifth layer of the E2B attends globally, every sixth of the others."""


def layers(count: int, every: int) -> list[str]:
    return ["full_attention" if (i + 1) % every == 0 else "sliding_attention" for i in range(count)]


PUBLISHED: Mapping[str, Mapping[str, Any]] = {
    "2.3b": {
        "hidden_size": 1536,
        "intermediate_size": 6144,
        "num_hidden_layers": 35,
        "num_attention_heads": 8,
        "num_key_value_heads": 1,
        "num_kv_shared_layers": 20,
        "use_double_wide_mlp": True,
        "layer_types": layers(35, GLOBAL_5),
    },
    "4.5b": {
        "hidden_size": 2560,
        "intermediate_size": 10240,
        "num_hidden_layers": 42,
        "num_attention_heads": 8,
        "num_key_value_heads": 2,
        "num_kv_shared_layers": 18,
        "layer_types": layers(42, GLOBAL_6),
    },
    "12b": {
        "hidden_size": 3840,
        "intermediate_size": 15360,
        "num_hidden_layers": 48,
        "num_attention_heads": 16,
        "num_key_value_heads": 8,
        "num_global_key_value_heads": 1,
        "attention_k_eq_v": True,
        "layer_types": layers(48, GLOBAL_6),
    },
    "31b": {
        "hidden_size": 5376,
        "intermediate_size": 21504,
        "num_hidden_layers": 60,
        "num_attention_heads": 32,
        "num_key_value_heads": 16,
        "num_global_key_value_heads": 4,
        "attention_k_eq_v": True,
        "hidden_size_per_layer_input": 0,
        "layer_types": layers(60, GLOBAL_6),
    },
}
"""Shapes of the language models in the released configurations."""


@pytest.mark.parametrize("name", PUBLISHED)
def test_trainable_parameters_are_those_of_the_language_model(name: str) -> None:
    torch = pytest.importorskip("torch")
    import transformers

    size, shape = SIZES[name], PUBLISHED[name]
    unified = "Unified" if "Unified" in size.model_class else ""
    config = getattr(transformers, f"Gemma4{unified}TextConfig")(**shape)
    with torch.device("meta"):  # shapes without values
        model = getattr(transformers, f"Gemma4{unified}ForCausalLM")(config)
    count = sum(parameter.numel() for parameter in model.parameters())
    assert count == pytest.approx(size.trainable_params, rel=0.002)
    tables = [p for n, p in model.named_parameters() if n.split(".")[-2].startswith("embed_tokens")]
    assert size.embedding_params == sum(table.numel() for table in tables)
    assert hasattr(transformers, size.model_class)


@pytest.mark.parametrize(
    ("name", "effective", "total"),
    [("2.3b", 2.3e9, 5.1e9), ("4.5b", 4.5e9, 8.0e9), ("12b", 12e9, 12e9), ("31b", 31e9, 31e9)],
)
def test_counts_are_the_published_ones(name: str, effective: float, total: float) -> None:
    size = SIZES[name]
    assert size.effective_params == pytest.approx(effective, rel=0.012)
    assert size.total_params == pytest.approx(total, rel=0.012)
    assert size.trainable_params < size.total_params


def test_the_study_s_models_and_architectures() -> None:
    found = {name: size.architecture for name, size in SIZES.items() if not size.made_here}
    assert found == {
        "2.3b": "E-series",
        "4.5b": "E-series",
        "12b": "conventional",
        "31b": "conventional",
    }
    assert [size.model for size in SIZES.values() if not size.made_here] == [
        "google/gemma-4-E2B-it",
        "google/gemma-4-E4B-it",
        "google/gemma-4-12B-it",
        "google/gemma-4-31B-it",
    ]
    unified = [name for name, size in SIZES.items() if "Unified" in size.model_class]
    assert unified == ["12b"]


@pytest.mark.parametrize("name", ["tiny", "tiny-conventional"])
def test_tiny_sizes_count_what_is_made(name: str) -> None:
    pytest.importorskip("transformers")
    size = SIZES[name]
    model = model_of(size.architecture, VOCABULARY, 0)
    counts = {name: parameter.numel() for name, parameter in model.named_parameters()}
    assert size.total_params == size.trainable_params == sum(counts.values())
    assert size.layers == model.config.num_hidden_layers
    assert size.hidden == model.config.hidden_size
    assert size.per_layer_input == model.config.hidden_size_per_layer_input
    assert size.model_class == type(model).__name__
    embedded = sum(n for name, n in counts.items() if "embed_tokens" in name)
    expected = sum(counts.values()) - (embedded if size.architecture == "E-series" else 0)
    assert size.effective_params == expected


def test_defaults_are_fields_of_a_recipe_and_the_study_s_stand_for_its_models() -> None:
    for size in SIZES.values():
        assert size.defaults.keys() <= Recipe.model_fields.keys()
        assert size.made_here or not size.defaults.keys() & STUDY.keys()
