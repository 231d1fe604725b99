import torch

from trimtab.export.hf.llama_opened import OpenedText


def test_logits_are_the_same_alone_and_beside_longer_rows(exported_text):
    opened = OpenedText(exported_text)
    rows = [[2, 300, 301], [2, *range(280, 300)]]
    for alone, beside in zip([opened.logits([row])[0] for row in rows], opened.logits(rows), strict=True):
        torch.testing.assert_close(alone, beside, atol=1e-5, rtol=1e-4)


def test_what_is_written_ends_with_the_end_symbol_or_the_limit(exported_text):
    opened = OpenedText(exported_text)
    (prompt,) = opened.encode(["the small"])
    written = opened.continued(prompt, limit=9)
    assert 0 < len(written) <= 9
    assert len(written) == 9 or written[-1] == opened.network.config.eos_token_id
    assert opened.decode([prompt]) == ["the small"]
