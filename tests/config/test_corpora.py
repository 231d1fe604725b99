import pytest
from pydantic import ValidationError

from tests.for_each import for_each
from trimtab.config.corpora import KINDS, ParallelFiles, TrainCorpus

PAIR = {"source": "a", "target": "b"}


def refused(model, **values) -> str:
    with pytest.raises(ValidationError) as raised:
        model.model_validate(values)
    return str(raised.value)


def test_two_files_or_one_file_with_columns():
    assert ParallelFiles(source="a", target="b").pairs is None
    assert ParallelFiles(pairs="p.tsv", source=1, target=2).source == 1
    assert ParallelFiles(pairs="p.tsv", source="en", target="de").source == "en"


def test_columns_need_a_file_and_are_counted_from_1():
    assert "there is no `pairs` file" in refused(ParallelFiles, source=1, target="b")
    assert "counted from 1" in refused(ParallelFiles, pairs="p.tsv", source=0, target=1)


@pytest.mark.parametrize("side", ["source", "target", "pairs"])
def test_an_empty_path_is_refused(side):
    assert f"{side}: is empty" in refused(ParallelFiles, **{**PAIR, side: ""})


@for_each("tag", ["", " ", "two words", "tab\tbed", "wide\u3000space", "▁", "▁the"])
def test_a_tag_is_one_word(tag):
    assert "one word without spaces" in refused(ParallelFiles, **PAIR, tags=[tag])


@pytest.mark.parametrize("weight", [0, -1, 1001])
def test_a_weight_is_above_0_and_at_most_1000(weight):
    assert "weight" in refused(TrainCorpus, **PAIR, weight=weight)


def test_a_text_in_one_language_is_source_and_target():
    corpus = TrainCorpus(text="mono.de", tags=("<denoise>",))
    assert (corpus.source, corpus.target, corpus.pairs) == ("mono.de", "mono.de", None)
    assert TrainCorpus.model_validate(corpus.model_dump()) == corpus
    assert TrainCorpus(**PAIR).text is None


@for_each(
    ("changes", "said"),
    [
        ({"source": "other.de"}, "other files are given as well"),
        ({"pairs": "p.tsv"}, "other files are given as well"),
        ({"documents": "d.jsonl"}, "other files are given as well"),
        ({"dataset": "folder"}, "other files are given as well"),
        ({"both_directions": True, "reverse_tags": ["<de>"]}, "has one direction only"),
        ({"text": ""}, "text: is empty"),
        ({"text": None}, "source"),
    ],
)
def test_a_text_has_no_other_side(changes, said):
    assert said in refused(TrainCorpus, **{"text": "mono.de", **changes})


@for_each(
    ("settings", "said"),
    [
        ({"split": "train"}, "without a `dataset`"),
        ({"dataset": "set", "pairs": "a.tsv"}, "together with `pairs`"),
        ({"dataset": "set", "source": 1}, "name of a column"),
        ({"dataset": ""}, "dataset: is empty"),
    ],
)
def test_a_dataset_has_columns_with_names_and_nothing_beside_it(settings, said):
    with pytest.raises(ValidationError, match=said):
        ParallelFiles(**{"source": "en", "target": "de", **settings})


WRITTEN = {
    "text": {"text": "folder/mono.de"},
    "images": {"images": "folder/lines.tsv"},
    "boxes": {"boxes": "folder/boxes.json"},
    "documents": {"documents": "folder/d.jsonl", "source": "src", "target": "tgt"},
    "dataset": {"dataset": "folder/saved", "split": "train", "source": "en", "target": "de"},
    "pairs": {"pairs": "folder/p.tsv", "source": 1, "target": 2},
    "source": {"source": "folder/a", "target": "folder/b"},
}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.key)
def test_every_way_to_name_files_knows_its_paths_and_takes_no_other_beside_it(kind):
    written = WRITTEN[kind.key]
    corpus = TrainCorpus(**written)
    assert corpus.kind == kind
    moved = corpus.with_paths(lambda path: path.replace("folder/", "elsewhere/"))
    elsewhere = {
        key: str(written[key]).replace("folder/", "elsewhere/") for key in kind.paths if key in written
    }
    assert moved == TrainCorpus(**{**written, **elsewhere})
    assert all(path.startswith("elsewhere/") for path in moved.paths.values())
    others = {each.key for each in KINDS} - {kind.key, "source"}
    for other in others if kind.key != "source" else ():
        assert other in refused(TrainCorpus, **{**WRITTEN[other], **written})
