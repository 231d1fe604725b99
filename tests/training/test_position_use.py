import pytest
import torch
import torch.nn.functional as F

from tests.model.test_encoder_decoder import SOURCES, TARGETS, build
from tests.streams import pack_of
from trimtab.training.position_use import SHIFT, position_use, positions_changed

PACK = pack_of(SOURCES, TARGETS)


def loss(model):
    return float(F.cross_entropy(model.logits(model(PACK)), PACK.labels))


@torch.no_grad()
def test_the_loss_without_a_part_is_that_of_a_model_whose_table_is_zero():
    for kind, part in (("learned", "absolute"), ("t5", "relative"), ("shaw", "relative")):
        model = build(positions=kind).eval()
        for name, weight in model.named_parameters():
            if "positions" in name or ".relative." in name:
                weight.copy_(torch.randn_like(weight))
        found, before = position_use(model, PACK), loss(model)
        for name, weight in model.named_parameters():
            if "positions" in name or ".relative." in name:
                weight.zero_()
        assert found[f"loss_without_{part}"] == pytest.approx(loss(model) - before, abs=1e-5)
        assert set(found) == {f"loss_without_{part}", "shift_similarity"}


@pytest.mark.parametrize(
    ("kind", "keeps"), [("rotary", True), ("rotary_qkv", True), ("shaw", True), ("sinusoidal", False)]
)
def test_a_shift_changes_absolute_positions_alone(kind, keeps):
    found = position_use(build(positions=kind).eval(), PACK)["shift_similarity"]
    assert (found == pytest.approx(1.0, abs=1e-4)) == keeps


@torch.no_grad()
def test_both_parts_are_looked_at_and_nothing_stays_changed():
    model = build(positions="sinusoidal+shaw").eval()
    before = model(PACK)
    assert set(position_use(model, PACK)) == {
        "loss_without_absolute",
        "loss_without_relative",
        "shift_similarity",
    }
    assert torch.equal(model(PACK), before)
    with pytest.raises(RuntimeError, match="inside"), positions_changed(model, relative=False):
        raise RuntimeError("inside")
    assert torch.equal(model(PACK), before)


def test_a_model_whose_texts_may_be_as_long_as_it_has_positions_is_not_shifted():
    pack = pack_of(SOURCES, TARGETS, max_seqlen=32)
    assert "shift_similarity" not in position_use(build().eval(), pack)
    assert SHIFT == 8


def test_other_modules_have_no_positions_of_this_package():
    assert position_use(torch.nn.Linear(2, 2), PACK) == {}
