"""GGUF files for tests that need no weights in them."""

import struct


def gguf(content: bytes = b"") -> bytes:
    """Return a GGUF file without tensors; `content`, behind its header, tells it from others."""
    return b"GGUF" + struct.pack("<IQQ", 3, 0, 0) + content
