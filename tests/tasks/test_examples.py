import pytest
import torch

from tests.language_run import language_parts
from tests.small_run import small_parts
from trimtab.tasks.examples import Checked, Examples


@pytest.mark.parametrize("parts_of", [small_parts, language_parts])
def test_what_build_gives_can_be_checked_and_has_examples_of_its_task(tmp_path, parts_of):
    parts = parts_of(tmp_path)
    examples = parts.examples
    assert isinstance(parts, Checked)
    assert isinstance(examples, Examples)
    assert 0 < examples.few().num_targets <= sum(batch.num_targets for batch in examples.first())
    cut = next(examples.cuts())
    assert cut.whole.num_targets == cut.num_targets == sum(piece.num_targets for piece in cut.pieces)
    assert len(cut.pieces) > 1
    with torch.no_grad():
        loss = parts.stepper.objective(examples.fullest().to(parts.device)).loss
    assert torch.isfinite(loss)
