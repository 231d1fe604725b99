import math

import pytest
import torch

from tests.small_run import small_parts
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
