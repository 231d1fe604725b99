import pytest
import torch

from tests.small_run import small_parts
from trimtab.errors import InputError
from trimtab.tasks.text.old_weights import take_text_weights
from trimtab.translator import load_model


def test_weights_of_the_same_vocabulary_are_taken_as_they_are(tmp_path, trained_run):
    parts, old = small_parts(tmp_path), load_model(str(trained_run), device="cpu")
    said = take_text_weights(old, parts.sources, parts.model, name="the old run")
    assert "66" in said
    for name, weight in old.model.state_dict().items():
        assert torch.equal(parts.model.state_dict()[name], weight), name


def test_another_model_is_named_with_the_run_that_has_it(tmp_path, trained_run):
    parts, old = small_parts(tmp_path, **{"model.dim": 48}), load_model(str(trained_run), device="cpu")
    with pytest.raises(InputError, match=r"model\.dim: not that of the model to start from") as caught:
        take_text_weights(old, parts.sources, parts.model, name="the old run")
    assert "the old run" in str(caught.value)
