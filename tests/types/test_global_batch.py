import numpy as np
import pytest

from tests.images import image_batches
from trimtab.data.text_global_batch import TextGlobalBatch
from trimtab.tasks.classification.batches import LabelledTexts
from trimtab.types import GlobalBatch, Ragged


@pytest.mark.parametrize(("kind", "num_tokens"), [(TextGlobalBatch, 5), (LabelledTexts, 3)])
def test_the_batches_of_each_task_have_what_the_loop_asks_for_and_count_tokens_their_way(kind, num_tokens):
    batch = kind(Ragged.of([[1, 2], [3]]), Ragged.of([[4], [7]]), np.zeros(2, np.int32), np.arange(2), 2)
    assert isinstance(batch, GlobalBatch)
    assert (batch.num_targets, batch.num_tokens, batch.position, [*batch.dropped]) == (2, num_tokens, 2, [])


def test_a_micro_batch_is_none():
    assert not isinstance(image_batches(3)[0], GlobalBatch)
