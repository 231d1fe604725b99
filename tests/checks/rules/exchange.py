"""A rule's example with parts of its text exchanged, for tests."""


def swap(example, *pairs):
    """The changed example, as (file, text)."""
    text = example.text
    for old, new in pairs:
        assert old in text, old
        text = text.replace(old, new)
    return example.file, text
