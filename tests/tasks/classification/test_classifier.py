import shutil

import numpy as np
import pytest

import trimtab
from tests.label_run import small_texts
from tests.small_run import small_recipe
from trimtab.errors import InputError
from trimtab.tasks.classification import classifier as stage
from trimtab.tasks.classification.classifier import load_classifier
from trimtab.tasks.labels import LABELS_FILE


@pytest.mark.slow
def test_lines_get_their_labels_in_order_whatever_is_beside_them(label_run, monkeypatch):
    monkeypatch.setattr(stage, "LINES_AT_ONCE", 7)
    classifier = trimtab.load_classifier(str(label_run))
    texts = small_texts(30, seed=5)
    found = [*classifier.classify(text for text, _ in texts)]
    right = sum(each.label == label for each, (_, label) in zip(found, texts, strict=True))
    assert right >= 27
    for each, (text, _) in zip(found, texts, strict=True):
        assert sum(each.probabilities.values()) == pytest.approx(1)
        assert each.probability == max(each.probabilities.values())
        (alone,) = classifier.classify([text])
        assert np.allclose([*alone.probabilities.values()], [*each.probabilities.values()], atol=1e-5)


def test_empty_and_long_lines_have_labels_too(label_run):
    classifier = load_classifier(str(label_run))
    empty, long = classifier.classify(["", "rose " * 500])
    assert empty.label in classifier.labels.names
    assert long.label == "garden"


def test_one_text_in_place_of_a_list_is_refused(label_run):
    with pytest.raises(InputError, match="lines"):
        load_classifier(str(label_run)).classify("a ship")


def test_other_labels_are_refused(label_run, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(label_run, run)
    labels = run / "tokenizer" / LABELS_FILE
    labels.write_text('["a", "b", "c"]')
    with pytest.raises(InputError, match="not the labels that the model was trained with"):
        load_classifier(str(run))


def test_what_writes_text_is_refused_by_name(label_run):
    for use in (trimtab.load_model, trimtab.load_generator):
        with pytest.raises(InputError, match="use it with `trimtab classify RUN`"):
            use(str(label_run))


def test_a_run_of_another_task_is_refused(label_run, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(label_run, run)
    (run / "recipe.yaml").write_text(small_recipe(tmp_path / "other").read_text())
    with pytest.raises(InputError, match="no classifier"):
        load_classifier(str(run))
