import math
from dataclasses import replace

import pytest
import torch

from tests.small_run import TRAIN_PAIRS, small_pairs, small_parts
from trimtab.loss.guided_alignment import plain_alignment_loss
from trimtab.model.source_attention import forward_aligned
from trimtab.step.accumulate import accumulate
from trimtab.tasks.text.losses import untrained


def test_the_loss_of_a_pack_is_that_of_its_vectors_and_the_output_matrix(tmp_path):
    parts = small_parts(tmp_path)
    parts.model.eval()
    loss, pack = parts.stepper.loss, parts.examples.few()
    with torch.no_grad():
        found = loss(parts.model, pack)
        logits = parts.model(pack) @ parts.model.output_matrix[: parts.model.num_ids].T
        expected = torch.nn.functional.cross_entropy(logits, pack.labels, reduction="sum", ignore_index=-100)
    assert float(found.loss) == pytest.approx(float(expected), rel=1e-5)


def test_truncating_is_the_losses_own(tmp_path):
    loss = small_parts(tmp_path).stepper.loss
    assert not loss.truncating
    loss.truncating = True
    assert loss.truncating is loss.loss.truncating is True


def test_a_model_that_knows_nothing_pays_the_logarithm_of_the_vocabulary_for_each_token(tmp_path):
    sources = small_parts(tmp_path).datasets
    assert untrained(sources) == (math.log(sources.tokenizer.num_ids), "ln(vocabulary)")


def guided_parts(folder, **changes):
    """Parts of the small recipe, whose pairs are aligned word by word."""
    folder.mkdir(parents=True, exist_ok=True)
    links = [" ".join(f"{n}-{n}" for n in range(len(a.split()))) for a, _ in small_pairs(TRAIN_PAIRS)]
    (folder / "train.links").write_text("".join(f"{line}\n" for line in links))
    corpus = {"source": "train.en", "target": "train.de", "alignments": "train.links"}
    guided = {"data.train": [corpus], "loss.guided_alignment": {"weight": 0.5, "layer": 1}}
    return small_parts(folder, **guided, **changes)


@pytest.mark.slow
def test_a_guided_head_adds_its_cross_entropy_and_a_cut_step_has_the_same_gradient(tmp_path):
    parts = guided_parts(tmp_path)
    parts.model.eval()
    loss, cut = parts.stepper.loss, next(iter(parts.examples.cuts()))
    found = loss(parts.model, cut.whole)
    plain = loss(parts.model, replace(cut.whole, links=None))
    _, queries, keys = forward_aligned(parts.model, cut.whole, layer=1, head=1)
    whole = cut.whole
    aligned = plain_alignment_loss(queries, keys, whole.links, target=whole.target, source=whole.source)
    assert float(found.loss) == pytest.approx(float(plain.loss))
    assert float((found.objective - plain.objective).detach()) == pytest.approx(
        0.5 * float(aligned.detach()), rel=1e-4
    )
    gradients = []
    for packs in ([cut.whole], cut.pieces):
        parts.model.zero_grad()
        accumulate(lambda pack: loss(parts.model, pack), packs)
        gradients.append(parts.model.decoder.blocks[0].cross.q.weight.grad.clone())
    torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-7)


def test_steps_of_training_carry_the_links_of_their_pairs(tmp_path):
    parts = guided_parts(tmp_path)
    window, packs = next(iter(parts.stream.batches(0)))
    assert sum(float(pack.links.weights.sum()) for pack in packs) == pytest.approx(
        window.num_targets - len(window.target), rel=1e-5
    )  # all tokens but the end symbols
