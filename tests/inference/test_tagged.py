from tests.small_run import small_parts
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
