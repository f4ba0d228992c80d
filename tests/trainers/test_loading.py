"""Loading a base: the layouts of the released checkpoints the right way and the wrong way, what is
frozen, and everything that can be missing, each refused in words."""

import json
from pathlib import Path
from typing import Any

import pytest

from agents.local.reading import reading
from agents.local.weights import Weights, weights_hash
from arena.errors import UserError
from trainers.loading import check_context, load, located, trainable, whole
from trainers.tiny import SPECIAL, tokenizer_of

torch = pytest.importorskip("torch", reason="training needs pip install 'bargaining-arena[train]'")
transformers = pytest.importorskip("transformers")
files = pytest.importorskip("safetensors.torch")

VOCABULARY = 320
TEXT: dict[str, Any] = {
    "vocab_size": VOCABULARY,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 4,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "head_dim": 16,
    "global_head_dim": 16,
    "layer_types": ["sliding_attention", "full_attention"] * 2,
    "sliding_window": 64,
    "max_position_embeddings": 256,
}
E_SERIES = {
    "vocab_size_per_layer_input": VOCABULARY,
    "hidden_size_per_layer_input": 8,
    "num_kv_shared_layers": 2,
}
CONVENTIONAL = {"attention_k_eq_v": True, "num_global_key_value_heads": 1}
PLACES = {
    **{"image_token_id": 300, "video_token_id": 301, "audio_token_id": 302, "boi_token_id": 303},
    **{"eoi_token_id": 304, "boa_token_id": 305, "eoa_token_index": 306},
}
TOWER = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 1, "head_dim": 16}


def gemma4() -> Any:
    """A model in the layout of E2B, E4B and 31B: an encoder of images, one of sound, the text model."""
    config = transformers.Gemma4Config(
        text_config=TEXT | E_SERIES,
        vision_config={
            **TOWER,
            **{"intermediate_size": 32, "num_key_value_heads": 1, "position_embedding_size": 64},
        },
        audio_config={
            **{"hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2},
            **{"output_proj_dims": 32, "subsampling_conv_channels": [8, 8]},
        },
        **PLACES,
    )
    return transformers.Gemma4ForConditionalGeneration(config)


def gemma4_unified() -> Any:
    """A model in the layout of 12B: projections of images and sound, the text model."""
    config = transformers.Gemma4UnifiedConfig(
        text_config=TEXT | CONVENTIONAL,
        vision_config={
            "patch_size": 4,
            "mm_embed_dim": 16,
            "mm_posemb_size": 32,
            "output_proj_dims": 16,
        },
        audio_config={"audio_embed_dim": 16},
        **PLACES,
    )
    return transformers.Gemma4UnifiedForConditionalGeneration(config)


LAYOUTS = {
    "gemma4": (gemma4, "Gemma4ForCausalLM"),
    "gemma4_unified": (gemma4_unified, "Gemma4UnifiedForCausalLM"),
}


def ends(model: Any) -> Any:
    """Give the model the generation config of the released ones: an answer ends at either token."""
    model.generation_config = transformers.GenerationConfig(
        eos_token_id=[SPECIAL.index("<eos>"), SPECIAL.index("<turn|>")],
        pad_token_id=SPECIAL.index("<pad>"),
    )
    return model.eval()


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    return tokenizer_of(["propose accept"], VOCABULARY)


@pytest.fixture(params=LAYOUTS)
def layout(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def released(layout: str, tmp_path: Path, tokenizer: Any) -> tuple[Any, Path]:
    """A tiny model in a released layout, and its folder."""
    with torch.random.fork_rng():
        torch.manual_seed(1)
        model = ends(LAYOUTS[layout][0]())
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    return model, tmp_path


@pytest.fixture
def text_only(tmp_path: Path, tokenizer: Any) -> Path:
    """The folder of a tiny text model; tests spoil it."""
    model = ends(transformers.Gemma4ForCausalLM(transformers.Gemma4TextConfig(**TEXT | E_SERIES)))
    model.save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    return tmp_path


def logits(model: Any) -> Any:
    with torch.no_grad():
        return model(input_ids=torch.tensor([[2, 20, 30, 40, 50, 60]])).logits


def rewrite(folder: Path, name: str, change: Any) -> None:
    content = json.loads((folder / name).read_text())
    (folder / name).write_text(json.dumps(change(content)))


def test_the_right_way_loads_the_same_model(released: tuple[Any, Path]) -> None:
    model, folder = released
    loaded, _ = load(str(folder))
    assert type(loaded) is type(model)
    assert torch.equal(logits(loaded), logits(model))


def test_the_wrong_way_is_noise_and_is_refused(released: tuple[Any, Path], layout: str) -> None:
    """Without the check the text class comes out at random; both ways to get there are refused."""
    model, folder = released
    wrong = getattr(transformers, LAYOUTS[layout][1])
    noise = wrong.from_pretrained(folder, dtype=torch.float32)
    assert not torch.allclose(logits(noise), logits(model), atol=0.05)
    with pytest.raises(UserError, match=r"weights are missing, such as .*model\.embed_tokens"):
        whole(folder, wrong)
    rewrite(folder, "config.json", lambda c: {**c["text_config"], "architectures": [wrong.__name__]})
    with pytest.raises(
        UserError, match=f"not hold all of a {wrong.__name__}, and the rest would be random"
    ):
        load(str(folder))


def test_only_the_language_model_learns(released: tuple[Any, Path]) -> None:
    model, folder = released
    loaded, _ = load(str(folder))
    learns = {name for name, p in loaded.named_parameters() if p.requires_grad}
    rest = {name for name, p in loaded.named_parameters() if not p.requires_grad}
    assert all(".language_model." in name for name in learns)
    assert any(".embed_vision." in name for name in rest)
    assert not any(".language_model." in name for name in rest)
    # The embeddings are also the head, and count once.
    assert trainable(loaded) == sum(p.numel() for p in model.model.language_model.parameters())
    assert {p.dtype for p in loaded.parameters() if p.requires_grad} == {torch.float32}


def test_a_recipe_whose_dialogues_are_longer_than_the_model_takes_is_refused(
    released: tuple[Any, Path],
) -> None:
    loaded, _ = load(str(released[1]))
    check_context(loaded, 256)
    with pytest.raises(
        UserError, match=r"takes dialogues of up to 256 tokens, .* recipe has 16,384: begin another run"
    ):
        check_context(loaded, 16_384)


def test_every_weight_of_a_text_model_learns(text_only: Path) -> None:
    loaded, tokenizer = load(str(text_only))
    assert all(p.requires_grad for p in loaded.parameters())
    assert tokenizer.padding_side == "left"


def test_weights_in_half_precision_are_trained_in_full(text_only: Path) -> None:
    weights = files.load_file(text_only / "model.safetensors")
    files.save_file(
        {name: tensor.bfloat16() for name, tensor in weights.items()},
        text_only / "model.safetensors",
        metadata={"format": "pt"},
    )
    rewrite(text_only, "config.json", lambda c: {**c, "dtype": "bfloat16"})
    loaded, _ = load(str(text_only))
    assert {p.dtype for p in loaded.parameters()} == {torch.float32}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda tensor: None, "1 weights are missing, such as model.norm.weight"),
        (lambda tensor: tensor[:-1].clone(), "1 weights have another shape, such as model.norm.weight"),
    ],
)
def test_a_weight_that_is_not_as_it_should_be_is_named(
    text_only: Path, change: Any, message: str
) -> None:
    weights = files.load_file(text_only / "model.safetensors")
    changed = change(weights.pop("model.norm.weight"))
    if changed is not None:
        weights["model.norm.weight"] = changed
    files.save_file(weights, text_only / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(UserError, match=message):
        load(str(text_only))


def test_a_file_that_was_cut_off_is_refused(text_only: Path) -> None:
    path = text_only / "model.safetensors"
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(UserError, match="cannot be loaded"):
        load(str(text_only))


@pytest.mark.parametrize("gone", ["eos_token", "pad_token"])
def test_a_tokenizer_without_an_end_or_padding_gets_that_of_its_template(
    text_only: Path, gone: str
) -> None:
    rewrite(text_only, "tokenizer_config.json", lambda c: {k: v for k, v in c.items() if k != gone})
    _, tokenizer = load(str(text_only))
    given = getattr(tokenizer, gone)
    assert given == ("<turn|>" if gone == "eos_token" else tokenizer.eos_token)


@pytest.mark.parametrize(
    ("model_says", "tokenizer_says", "ends"),
    [
        (["<turn|>"], "<eos>", {"<eos>", "<turn|>"}),
        ([], "<turn|>", {"<turn|>"}),
        (["<turn|>"], None, {"<turn|>"}),
    ],
)
def test_an_answer_ends_where_either_of_model_and_tokenizer_says_in_training_and_at_play(
    text_only: Path, tmp_path: Path, model_says: list[str], tokenizer_says: str | None, ends: set[str]
) -> None:
    """TRL samples up to both, so an answer that ends with either must not be taken for cut off; and what
    a checkpoint is saved with must not tell it from its base."""
    stops = [SPECIAL.index(name) for name in model_says] or None
    for name in ("generation_config.json", "config.json"):
        rewrite(text_only, name, lambda c: {**c, "eos_token_id": stops})
    rewrite(text_only, "tokenizer_config.json", lambda c: {**c, "eos_token": tokenizer_says})
    model, tokenizer = load(str(text_only))
    checkpoint = tmp_path / "checkpoint"
    model.save_pretrained(checkpoint)
    tokenizer.save_pretrained(checkpoint)
    expected = {SPECIAL.index(name) for name in ends}
    assert set(model.generation_config.eos_token_id) == expected
    for folder in (text_only, checkpoint):
        assert reading(Weights(folder, weights_hash(folder))).chat.stops == expected


def test_without_any_end_of_an_answer_there_is_no_training(text_only: Path) -> None:
    rewrite(text_only, "generation_config.json", lambda c: {**c, "eos_token_id": None})
    rewrite(
        text_only, "tokenizer_config.json", lambda c: {k: v for k, v in c.items() if k != "eos_token"}
    )
    rewrite(text_only, "config.json", lambda c: {**c, "eos_token_id": None})
    with pytest.raises(UserError, match="names no token that ends an answer"):
        load(str(text_only))


def test_a_model_without_a_chat_template_is_refused(text_only: Path) -> None:
    (text_only / "chat_template.jinja").unlink()
    with pytest.raises(UserError, match="no chat template: an instruction-tuned model is needed"):
        load(str(text_only))


def test_a_folder_without_a_tokenizer_is_refused(text_only: Path) -> None:
    for path in text_only.glob("tokenizer*"):
        path.unlink()
    with pytest.raises(UserError, match="tokenizer"):
        load(str(text_only))


def test_a_folder_without_weights_says_what_to_give(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"holds no \*\.safetensors: is it the folder of a checkpoint"):
        located(str(tmp_path))


def test_an_id_that_is_not_here_says_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(UserError, match=r"HF_HUB_OFFLINE is set: .* hf download nobody/nothing"):
        located("nobody/nothing")


def test_without_a_network_nobody_waits_and_nobody_sees_a_traceback(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Nothing listens at the address; an answer in other words than Hugging Face's is the same to us."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(UserError, match=r"cannot be downloaded .* hf download nobody/nothing"):
        located("nobody/nothing")
