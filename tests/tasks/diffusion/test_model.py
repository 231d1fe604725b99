import torch

from trimtab.build import build


def test_half_precision_changes_what_is_predicted_only_by_its_rounding(opened):
    parts = build(*opened)
    with torch.no_grad():
        for name in sorted(parts.model.begins_zero):
            parts.model.get_parameter(name).normal_(0, 0.1, generator=torch.Generator().manual_seed(1))
    batch, model = parts.examples.few(), parts.model.eval()
    whole = model(batch)
    half = model.half_precision_copy(torch.bfloat16)(batch)
    assert half.dtype == torch.float32
    assert 0 < float((half - whole).norm() / whole.norm()) < 0.03


def test_it_knows_how_much_it_reads(parts):
    batch = parts.examples.few()
    assert parts.model.tokens_read(batch) == {"dit": 6 * 16}
    assert parts.model(batch).shape == (6, 256)
    assert parts.model.wrongly_tied() == ""
    assert [*parts.model.blocks] == [*parts.model.dit.blocks]
