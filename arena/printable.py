"""Text from models and from people that must not drive a terminal."""


def plain(text: str, *, lines: bool = False) -> str:
    """Return `text` with control and other unprintable characters spelled out, so that it can neither
    move a cursor nor hide anything; with `lines`, line ends and tabs stay."""
    if text.isprintable():
        return text
    kept = "\n\t" if lines else ""
    return "".join(
        character
        if character in kept or character.isprintable()
        else character.encode("unicode_escape").decode()
        for character in text
    )
