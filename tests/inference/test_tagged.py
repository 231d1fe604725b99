from tests.data.small_text import small_tokenizer
from tests.small_run import small_parts
from trimtab.data.tokenizers import Tokenizers
from trimtab.inference.tagged import Tagged


def test_tags_stand_before_the_line_and_are_no_part_of_what_is_empty(tmp_path):
    parts = small_parts(tmp_path, **{"data.train.0.tags": ["<ui>"], "data.valid.tags": ["<ui>"]})
    inner = parts.datasets.tokenizer
    tagged = Tagged(parts.datasets.tokenizers, ("<ui>",))
    assert tagged.encode(["ship", "\u200b", ""]) == [
        [inner.id("<ui>"), *inner.encode(["ship"])[0]],
        [inner.end],
        [inner.end],
    ]
    for name in ("num_ids", "pad", "unknown", "start", "end"):
        assert getattr(tagged, name) == getattr(inner, name)


def test_no_translation_holds_a_control_character():
    """Sampled byte by byte, a text may hold what clears a terminal."""
    tokenizer = small_tokenizer()
    row = [
        tokenizer.id(f"<0x{byte:02X}>")
        for byte in (0x41, 0x1B, 0x5B, 0x32, 0x4A, 0x07, 0xC2, 0x9B, 0x09, 0x42)
    ]
    assert tokenizer.decode([row]) == ["A\x1b[2J\x07\x9b\tB"]
    assert Tagged(Tokenizers(tokenizer, tokenizer), ()).decode([row]) == ["A[2J\tB"]
