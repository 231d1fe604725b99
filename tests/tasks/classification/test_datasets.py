import numpy as np

from tests.label_run import label_recipe, label_sources, small_texts, write_texts
from trimtab.config.load import load_recipe
from trimtab.config.paths import resolve_paths
from trimtab.progress import Silent
from trimtab.tasks.classification.datasets import open_datasets


def test_a_chunk_has_each_text_with_its_label_in_the_order_of_the_stream(opened):
    _, datasets = opened
    chunk = datasets.feed.chunk(start=5, count=20)
    corpus = datasets.corpora[0]
    for number, line in enumerate(chunk.line.tolist()):
        text, label = corpus.pair(line)
        assert chunk.source.row(number).tolist() == datasets.tokenizer.encode([text])[0]
        assert datasets.labels.names[chunk.target.row(number)[0]] == label
    assert chunk.position.tolist() == [*range(5, 25)]
    assert (chunk.target.lengths == 1).all()


def test_what_is_empty_is_dropped_with_its_reason(tmp_path):
    path = label_recipe(tmp_path)
    write_texts(tmp_path / "train.tsv", [("", "sea"), ("a ship", " "), *small_texts(100)])
    recipe = resolve_paths(load_recipe(path))
    datasets = open_datasets(recipe, tokenizer_folder=tmp_path / "tokenizer", progress=Silent())
    dropped = {each.line: each.reason for each in datasets.sample.dropped}
    assert dropped == {0: "empty_source", 1: "empty_target"}
    assert len(datasets.sample.target) == 100
    assert datasets.targets_per_epoch == 100
    assert datasets.tokens_per_target == datasets.sample.source.lengths.mean()


def test_of_a_long_text_the_beginning_is_read_with_the_end_symbol(opened):
    _, datasets = opened
    (row,) = map(datasets.reader.rows(["ship " * 100]).row, [0])
    assert len(row) == 32
    assert row[-1] == datasets.tokenizer.end
    assert np.array_equal(row[:-1], datasets.tokenizer.encode(["ship " * 100])[0][:31])


def test_fingerprints_name_data_tokenizer_and_labels(opened):
    _, datasets = opened
    assert set(datasets.fingerprints) == {"data.train.0", "data.valid.valid", "tokenizer", "labels"}
    assert datasets.epoch_size == "180 examples of 3 labels"


def test_two_aligned_files_are_read_as_well(tmp_path):
    texts = small_texts(120)
    tmp_path.mkdir(exist_ok=True)
    (tmp_path / "t.txt").write_text("".join(f"{text}\n" for text, _ in texts))
    (tmp_path / "l.txt").write_text("".join(f"{label}\n" for _, label in texts))
    files = {"source": "t.txt", "target": "l.txt"}
    _, datasets = label_sources(tmp_path, **{"data.train": [files], "data.valid": files})
    assert datasets.valid["valid"].rows == 120
