"""Texts for the commands."""

FERRY = (
    "The night boat leaves the old pier at twenty past eleven. Hardly anybody takes it for the "
    "crossing. People take it for the engine's hum, the weak tea, and the one lamp that the crew "
    "leaves burning on the upper deck."
)
NOTICE = "A notice by the gangway says the same in two languages, and leaves out the bicycles."
CHINESE = "夜航船不设座位预订，请在开船前十分钟到达码头，并把自行车放在船尾的架子上。"
NEW = "This sentence has never been written before by anybody, anywhere at all."
PAGE = f"<!DOCTYPE html><html><body><article><p>{NOTICE}</p></article></body></html>"


def written(folder, text, name="letter.txt"):
    """A file with it; its name."""
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return name
