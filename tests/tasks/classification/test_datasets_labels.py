import json

import pytest

from tests.label_run import label_recipe, label_sources, small_texts, write_texts
from trimtab.errors import InputError
from trimtab.launch import train
from trimtab.tasks.labels import LABELS_FILE, load_labels

pytestmark = pytest.mark.usefixtures("checks_of_data_only")


def test_labels_are_those_of_the_training_data_sorted_and_kept(tmp_path):
    _, datasets = label_sources(tmp_path)
    assert datasets.labels.names == ("garden", "kitchen", "sea")
    assert load_labels(tmp_path / "tokenizer") == datasets.labels
    write_texts(tmp_path / "train.tsv", [("a rose", "other"), ("a ship", "sea")])
    assert load_labels(tmp_path / "tokenizer") == datasets.labels


@pytest.mark.slow
def test_a_run_whose_data_gained_a_label_is_not_resumed_and_says_where_the_label_is(tmp_path):
    recipe = label_recipe(tmp_path)
    run = train(recipe, out=tmp_path / "run").run
    lines = (tmp_path / "train.tsv").read_text(encoding="utf-8")
    (tmp_path / "train.tsv").write_text(lines + "a rose\tother\n", encoding="utf-8")
    with pytest.raises(InputError, match="a label unknown to this run") as caught:
        train(recipe, out=run, resume=True)
    (problem,) = caught.value.problems
    assert f"train.tsv:{lines.count(chr(10)) + 1}" in problem.what
    assert (problem.got, bool(problem.allowed), bool(problem.fix)) == ("'other'", True, True)


def test_one_label_alone_is_refused(tmp_path):
    recipe = label_recipe(tmp_path)
    write_texts(tmp_path / "train.tsv", [(text, "sea") for text, _ in small_texts(100)])
    with pytest.raises(InputError, match="1 label: sea"):
        train(recipe, out=tmp_path / "run")


def test_an_unknown_label_of_a_validation_set_is_refused_with_its_line(tmp_path):
    recipe = label_recipe(tmp_path)
    write_texts(tmp_path / "dev.tsv", [("a rose", "garden"), ("a star", "sky"), ("a moon", "sky")])
    with pytest.raises(InputError) as caught:
        train(recipe, out=tmp_path / "run")
    (problem,) = caught.value.problems
    assert "dev.tsv:2" in problem.what
    assert problem.got == "'sky'"
    assert problem.allowed == "garden, kitchen, sea"
    assert "data.train" in problem.fix


@pytest.mark.parametrize("content", ["{}", "[1]", "[", ""])
def test_a_damaged_file_is_refused(tmp_path, content):
    (tmp_path / LABELS_FILE).write_text(content)
    with pytest.raises(InputError, match="no list of labels"):
        load_labels(tmp_path)


def test_a_long_list_is_cut_in_messages(tmp_path):
    (tmp_path / LABELS_FILE).write_text(json.dumps([f"l{number}" for number in range(20)]))
    assert load_labels(tmp_path).shown().endswith("l11 and 8 more")
