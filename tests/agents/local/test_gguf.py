"""A file that is no GGUF, or not all of one, is found by its header."""

import os
import struct
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agents.local.gguf import BLOCKS, check_gguf
from agents.local.weights import WeightsError
from tests.gguf_files import gguf
from tests.served import weights


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[bytes, int]:
    """A file by the format's own library, and how many bytes of it reach to its last tensor's end."""
    library, numpy = pytest.importorskip("gguf"), pytest.importorskip("numpy")
    path = tmp_path_factory.mktemp("gguf") / "whole.gguf"
    writer = library.GGUFWriter(path, "llama")
    writer.add_custom_alignment(64)
    writer.add_token_list(["a", "", "прайс"])
    writer.add_token_scores([0.5, 1.0, -1.0])
    writer.add_tensor("norm", numpy.zeros(5, dtype=numpy.float32))
    for name, kind in (("q", library.GGMLQuantizationType.Q4_0), ("half", None)):
        values = numpy.zeros((2, 64), dtype=numpy.float16)
        packed = values if kind is None else library.quants.quantize(values, kind)
        writer.add_tensor(name, packed, raw_dtype=kind)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    last = library.GGUFReader(path).tensors[-1]
    return path.read_bytes(), int(last.data_offset + last.n_bytes)


def refused(content: bytes, folder: Path) -> str:
    file = folder / "x.gguf"
    file.write_bytes(content)
    with pytest.raises(WeightsError, match="gguf") as raised:
        check_gguf(file)
    return str(raised.value)


def test_a_file_that_is_cut_off_anywhere_is_refused(whole: tuple[bytes, int], tmp_path: Path) -> None:
    content, end = whole
    assert len(content) - end < 64  # padding
    file = tmp_path / "whole.gguf"
    for length in (end, len(content)):
        file.write_bytes(content[:length])
        check_gguf(file)
    for length in reversed(range(end)):
        os.truncate(file, length)
        with pytest.raises(WeightsError):
            check_gguf(file)
    said = refused(content[: end - 1], tmp_path)
    assert f"has {end - 1:,} bytes of at least {end:,}" in said
    assert "get it again" in said


def test_sizes_are_those_of_the_library() -> None:
    sizes = pytest.importorskip("gguf").GGML_QUANT_SIZES
    assert {int(kind): size for kind, size in sizes.items() if int(kind) in BLOCKS} == BLOCKS


@pytest.mark.llm
def test_a_real_model_is_whole() -> None:
    check_gguf(weights())


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "is no GGUF file"),
        (b"<!DOCTYPE html><title>Sign in</title>", "is no GGUF file"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "is no GGUF file"),
        (b"GGUF" + struct.pack("<IQQ", 1, 0, 0), "version 1, and llama.cpp reads 2 and 3"),
        (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "for a big-endian machine"),
        (b"GGUF", "cut off within its header"),
        (gguf()[:-1], "cut off within its header"),
        (b"GGUF" + struct.pack("<IQQ", 3, 1, 0) + bytes(9), "cut off within its header"),
        (b"GGUF" + struct.pack("<IQQQI", 3, 0, 1, 0, 99) + bytes(90), "damaged"),
    ],
)
def test_what_is_wrong_is_said_with_what_to_do(content: bytes, says: str, tmp_path: Path) -> None:
    said = refused(content, tmp_path)
    assert says in said
    assert "again" in said


COUNTS = st.integers(0, 2) | st.integers(0, 2**64 - 1)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(COUNTS, COUNTS, st.binary(max_size=200))
def test_rubbish_behind_the_magic_is_refused_or_fits(
    tmp_path: Path, tensors: int, pairs: int, rest: bytes
) -> None:
    file = tmp_path / "rubbish.gguf"
    file.write_bytes(b"GGUF" + struct.pack("<IQQ", 3, tensors, pairs) + rest)
    try:
        check_gguf(file)
    except WeightsError:
        return
    assert tensors + pairs <= len(rest)  # each takes more than a byte
