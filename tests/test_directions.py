"""One corpus read both ways, told apart by tags, and the tags given again when translating."""

import pytest

from tests.short_run import SHORT
from tests.small_run import small_pairs, small_recipe, small_sources
from trimtab.errors import InputError
from trimtab.inference import load_translator
from trimtab.launch import train

pytestmark = pytest.mark.usefixtures("checks_of_data_only")

BOTH = {
    "data.train.0.tags": ["<2de>"],
    "data.train.0.both_directions": True,
    "data.train.0.reverse_tags": ["<2en>"],
    "data.valid.tags": ["<2de>"],
}
LONG = {"length": "500 steps", "evaluate.every": "500 steps", "checkpoint.every": "500 steps"}
PAIRS = small_pairs(20, seed=7)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("both")
    return train(small_recipe(folder, **BOTH, **SHORT), out=folder / "run").run


def right(run, tags, pairs):
    """The share of lines that are translated without a mistake."""
    outputs = load_translator(str(run), beam=1, tags=tags, device="cpu").translate([s for s, _ in pairs])
    return sum(output == target for output, (_, target) in zip(outputs, pairs, strict=True)) / len(pairs)


def test_both_directions_are_one_corpus_more_on_the_same_files(tmp_path):
    _, sources = small_sources(tmp_path, **BOTH)
    forward, backward = sources.corpora
    assert len(forward) == len(backward) == 200
    assert forward.pair(3) == tuple(reversed(backward.pair(3)))
    assert (forward.tags, backward.tags) == (("<2de>",), ("<2en>",))
    assert set(sources.fingerprints) == {
        "data.train.0",
        "data.train.0 reversed",
        "data.valid.valid",
        "tokenizer",
    }


@pytest.mark.slow
def test_both_directions_are_learned(tmp_path):
    run = train(small_recipe(tmp_path, **BOTH, **LONG), out=tmp_path / "run").run
    reverse = [(target, source) for source, target in PAIRS]
    assert right(run, ["<2de>"], PAIRS) >= 0.6
    assert right(run, ["<2en>"], reverse) >= 0.6


@pytest.mark.slow
def test_the_same_line_is_translated_as_its_tag_says(tmp_path):
    recipe = small_recipe(
        tmp_path,
        **{
            "data.train": [
                {"source": "train.en", "target": "train.de", "tags": ["<forward>"]},
                {"source": "train.en", "target": "turned.de", "tags": ["<turned>"]},
            ],
            "data.valid.tags": ["<forward>"],
        },
        **LONG | {"length": "900 steps"},
    )
    turned = [" ".join(reversed(line.split())) for line in (tmp_path / "train.de").read_text().splitlines()]
    (tmp_path / "turned.de").write_text("".join(f"{line}\n" for line in turned))
    run = train(recipe, out=tmp_path / "run").run
    backwards = [(source, " ".join(reversed(target.split()))) for source, target in PAIRS]
    assert right(run, ["<forward>"], PAIRS) >= 0.5
    assert right(run, ["<turned>"], backwards) >= 0.5
    assert right(run, ["<turned>"], PAIRS) <= 0.2


def test_a_tag_that_was_not_trained_with_is_refused_before_anything_is_read(run):
    with pytest.raises(InputError, match="no piece '<2fr>'"):
        load_translator(str(run), tags=["<2fr>"], device="cpu")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"data.train.0.both_directions": True}, "must know in which direction"),
        ({"data.train.0.reverse_tags": ["<2en>"]}, "both_directions is false"),
        ({**BOTH, "data.train.0.reverse_tags": ["two words"]}, "one word without spaces"),
    ],
)
def test_directions_that_could_not_be_told_apart_are_refused(tmp_path, changes, said):
    with pytest.raises(InputError, match=said):
        small_sources(tmp_path, **changes)


def test_a_malformed_line_is_told_once_not_once_a_direction(tmp_path):
    tmp_path.joinpath("bad.tsv").write_text("one\teins\nbroken\n")
    corpus = {"pairs": "bad.tsv", "source": 1, "target": 2, "tags": ["<2de>"], "both_directions": True}
    with pytest.raises(InputError, match="line 2") as caught:
        small_sources(tmp_path, **{"data.train": [{**corpus, "reverse_tags": ["<2en>"]}]})
    assert len(caught.value.problems) == 1
