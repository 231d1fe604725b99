import pytest

from tests.for_each import for_each
from trimtab.config.mixing import mixing_contradictions
from trimtab.config.run import Recipe

PAIR = {"source": "a", "target": "b"}


def found(**data):
    tree = {"data": {"train": [PAIR], **data}, "model": {"preset": "tiny"}, "length": "1000 steps"}
    return [
        (complaint.path, complaint.got, complaint.allowed)
        for complaint in mixing_contradictions(Recipe.model_validate(tree))
    ]


def stages_found(*stages, names=("news", "crawl")):
    train = [{**PAIR, "source": f"{number}.en", "name": name} for number, name in enumerate(names)]
    return [(path, got) for path, got, _ in found(train=train, stages=stages)]


def test_stages_follow_one_another_and_the_last_has_no_end():
    first, last = {"until": "10 steps", "weights": {"news": 0}}, {"weights": {"news": 4, "crawl": 0.5}}
    assert stages_found(first, {**first, "until": "20 steps"}, last) == []
    assert stages_found(last) == []
    assert stages_found(first) == [("data.stages.0.until", "10 steps")]
    assert stages_found(last, last) == [("data.stages.0.until", "nothing")]
    assert stages_found(first, first, last) == [("data.stages.1.until", "10 steps")]


def test_the_weights_of_a_stage_are_those_of_corpora_that_have_names():
    assert stages_found({"weights": {"new": 1}}) == [("data.stages.0.weights.new", "'new'")]
    assert stages_found({"weights": {"a": 1}}, names=("", "")) == [("data.stages.0.weights.a", "'a'")]


def test_a_stage_reads_something():
    assert stages_found({"weights": {"news": 0, "crawl": 0}}) == [
        ("data.stages.0.weights", "a weight of 0 for each")
    ]
    assert stages_found({"weights": {"news": 0}}) == []
    assert stages_found({"weights": {"news": 0}}, names=("news", "")) == []


def test_noise_is_for_texts_in_one_language_or_for_corpora_that_it_names():
    denoise, text = {"kind": "denoise"}, {"text": "mono.de"}
    ((path, got, _),) = found(transforms=[{"kind": "normalize"}, denoise])
    assert (path, got) == ("data.transforms.1", "no corpus of `data.train` that is given as `text`")
    assert found(train=[PAIR, text], transforms=[denoise]) == []
    named = {**PAIR, "name": "news"}
    assert found(train=[named], transforms=[{**denoise, "only": ["news"]}]) == []
    assert found(train=[named], transforms=[{**denoise, "only": ["news", "new"]}]) == [
        ("data.transforms.0.only", "new", "news")
    ]


@for_each(
    ("model", "kind", "fits"),
    [
        ("unigram", "subword_regularization", True),
        ("bpe", "bpe_dropout", True),
        ("bpe", "subword_regularization", False),
        ("unigram", "bpe_dropout", False),
    ],
)
def test_a_sampling_fits_the_model_that_is_trained(model, kind, fits):
    tokenizer = {"model": model, "sampling": {"kind": kind}}
    paths = [path for path, _, _ in found(tokenizer=tokenizer)]
    assert paths == ([] if fits else ["data.tokenizer.sampling.kind"])
    assert found(tokenizer={**tokenizer, "path": "given.model"}) == [], "seen when it is opened"


def test_a_tokenizer_of_one_side_cannot_split_the_other():
    def sampled(sides):
        return {"sampling": {"kind": "subword_regularization", "sides": sides}}

    found_paths = [
        path for path, _, _ in found(tokenizer=sampled("source"), source_tokenizer=sampled("target"))
    ]
    assert found_paths == ["data.tokenizer.sampling.sides", "data.source_tokenizer.sampling.sides"]
    assert found(tokenizer=sampled("target"), source_tokenizer=sampled("both")) == []
    assert found(tokenizer=sampled("source")) == []


def test_the_symbol_of_what_is_left_out_is_no_tag():
    noise, mono = [{"kind": "denoise"}], {"text": "mono.de", "tags": ["<mask>"]}
    assert [(path, got) for path, got, _ in found(train=[PAIR, mono], transforms=noise)] == [
        ("data.train.1.tags", "<mask>")
    ]
    assert found(train=[PAIR, {**mono, "tags": ["<masked>"]}], transforms=noise) == []


@for_each("separator", ["a", "/", "", "a b", "\0\0", "▁x"])
def test_a_separator_is_no_ordinary_character(separator):
    with pytest.raises(ValueError, match="separator"):
        found(transforms=[{"kind": "context", "separator": separator}])
