"""Whether a GGUF file is whole: its header says what follows, and so how long the file has to be.

The format is https://github.com/ggml-org/ggml/blob/master/docs/gguf.md. No weights are read.
"""

import math
import mmap
import struct
from collections.abc import Mapping
from pathlib import Path

from agents.local.weights import WeightsError

VERSIONS = (2, 3)
"""Those that llama.cpp reads."""
BLOCKS: Mapping[int, tuple[int, int]] = {
    **{0: (1, 4), 1: (1, 2), 2: (32, 18), 3: (32, 20), 6: (32, 22), 7: (32, 24), 8: (32, 34)},
    **{10: (256, 84), 11: (256, 110), 12: (256, 144), 13: (256, 176), 14: (256, 210), 16: (256, 66)},
    **{17: (256, 74), 18: (256, 98), 19: (256, 50), 20: (32, 18), 21: (256, 110), 22: (256, 82)},
    **{23: (256, 136), 29: (256, 56), 30: (1, 2), 34: (256, 54), 35: (256, 66), 39: (32, 17)},
}
"""Weights of a block, and the bytes that these take, by ggml's number of the quantization. Of any other
it is only known that its tensors do not end before they begin."""
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "B", 10: "Q", 11: "q", 12: "d"}
_TEXT, _ARRAY = 8, 9
_ALIGNMENT = 32
_MOST_DIMENSIONS = 4


class _DamagedError(Exception):
    """A header that says what no header can."""


def check_gguf(file: Path) -> None:
    """Raise WeightsError, with what to do, where a file is no GGUF that llama.cpp reads, or is shorter
    than its header says."""
    try:
        size = file.stat().st_size
        with file.open("rb") as opened:
            if opened.read(4) != b"GGUF":
                raise WeightsError(
                    f"{file} is no GGUF file, as it does not begin with GGUF: look what it is, and "
                    "download or convert the model again"
                )
            with mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as content:
                needed = _length(_Header(content), file)
    except OSError as error:
        raise WeightsError(f"{file} cannot be read: {error.strerror}") from error
    except (_DamagedError, struct.error):
        raise WeightsError(
            f"{file} is damaged, or cut off within its header ({size:,} bytes are there): get it again"
        ) from None
    if size < needed:
        raise WeightsError(
            f"{file} is cut off: it has {size:,} bytes of at least {needed:,}, as where a download was "
            "interrupted or a disk was full; get it again"
        )


class _Header:
    """Reads a header from its beginning on. Raises struct.error where the file ends before."""

    def __init__(self, content: mmap.mmap) -> None:
        self._content, self.at = content, len(b"GGUF")

    def number(self, form: str) -> int | float:
        found: int | float = struct.unpack_from(f"<{form}", self._content, self.at)[0]
        self.at += struct.calcsize(form)
        return found

    def count(self, form: str = "Q") -> int:
        return int(self.number(form))

    def skip(self, length: int) -> None:
        self.at += length
        if self.at > len(self._content):
            raise struct.error

    def text(self) -> bytes:
        self.skip(length := self.count())
        return self._content[self.at - length : self.at]

    def value(self, kind: int) -> int | float | None:
        """Read a value; return it where it is a number."""
        if kind in _NUMBERS:
            return self.number(_NUMBERS[kind])
        if kind == _TEXT:
            self.text()
            return None
        if kind != _ARRAY:
            raise _DamagedError
        kind, count = self.count("I"), self.count()
        if kind in _NUMBERS:
            self.skip(count * struct.calcsize(_NUMBERS[kind]))
            return None
        if kind != _TEXT:  # nor does llama.cpp read arrays of arrays
            raise _DamagedError
        for _ in range(count):
            self.skip(self.count())
        return None


def _length(header: _Header, file: Path) -> int:
    """Return how many bytes a file has to have at least."""
    version = header.count("I")
    if version not in VERSIONS:
        swapped = int.from_bytes(version.to_bytes(4, "little"), "big") in VERSIONS
        other = "for a big-endian machine" if swapped else f"of version {version}"
        raise WeightsError(f"{file} is a GGUF {other}, and llama.cpp reads 2 and 3: convert it again")
    tensors, pairs = header.count(), header.count()
    alignment: int | float | None = _ALIGNMENT
    for _ in range(pairs):
        key, kind = header.text(), header.count("I")
        value = header.value(kind)
        alignment = value if key == b"general.alignment" else alignment
    if not isinstance(alignment, int) or alignment < 1:
        raise _DamagedError
    ends = [_end_of_tensor(header) for _ in range(tensors)]
    return -(-header.at // alignment) * alignment + max(ends) if ends else header.at


def _end_of_tensor(header: _Header) -> int:
    """Return where the next tensor ends, counted from where the first begins."""
    header.text()
    dimensions = header.count("I")
    if dimensions > _MOST_DIMENSIONS:
        raise _DamagedError
    weights = math.prod(header.count() for _ in range(dimensions))
    block, size = BLOCKS.get(header.count("I"), (1, 0))
    return header.count() + weights // block * size
