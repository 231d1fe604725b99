import json

import pytest

from tests.module_folder import ENCODERS, LANGUAGES, SEQ2SEQ, module_folder, oracle_tokenizer
from tests.small_run import small_pairs
from trimtab.config.tokenizer import PretrainedTokenizer
from trimtab.data.side_tokenizers import read_side
from trimtab.errors import InputError

PAIRS = small_pairs(8, seed=5)


@pytest.fixture(scope="module")
def folder_of(tmp_path_factory):
    held = tmp_path_factory.mktemp("folders")

    def of(family):
        return held / family if (held / family).exists() else module_folder(held / family, family)

    return of


def side_of(folder, family, side="source", **changes):
    config = PretrainedTokenizer(path=str(folder), **{**LANGUAGES.get(family, {}), **changes})
    return read_side(config, side, task="classification" if family in ENCODERS else "translation")


@pytest.mark.quick("marian", "mbart", "umt5", "distilbert")
@pytest.mark.parametrize("family", [*SEQ2SEQ, *ENCODERS])
def test_ids_and_texts_are_those_of_transformers(folder_of, family):
    folder = folder_of(family)
    source, other = side_of(folder, family), oracle_tokenizer(folder, family)
    lines = [line for line, _ in PAIRS]
    assert source.encode(lines) == other(lines)["input_ids"]
    assert source.encode(["", "  "]) == [[source.end]] * 2
    if family in ENCODERS:
        return
    target, lines = side_of(folder, family, "target"), [line for _, line in PAIRS]
    rows = target.encode(lines)
    if family != "mbart":
        assert rows == other(text_target=lines)["input_ids"]
    assert target.decode(rows) == lines


def test_a_prefix_and_a_language_stand_before_each_source(folder_of):
    plain = side_of(folder_of("t5"), "t5")
    prefixed = side_of(folder_of("t5"), "t5", source_prefix="the old: ")
    assert prefixed.encode(["red ship"]) == plain.encode(["the old: red ship"])
    coded = side_of(folder_of("t5"), "t5", target_language="de")
    assert coded.encode(["red ship"]) == [[plain.id("<2de>"), *plain.encode(["red ship"])[0]]]
    marian = side_of(folder_of("marian"), "marian", target_language="nld")
    assert marian.piece(marian.encode(["red ship"])[0][0]) == ">>nld<<"


@pytest.mark.parametrize(
    ("family", "changes", "message"),
    [
        ("nllb", {"source_language": None}, "reads and writes many languages"),
        ("nllb", {"source_language": "en"}, "the model has no such language"),
        ("nllb", {"source_language": "the"}, "the model has no such language"),
        ("marian", {"source_language": "en"}, "reads no language code there"),
        ("marian", {"target_language": "fra"}, "the model has no such language"),
        ("bert", {"target_language": "de"}, "reads no language code there"),
    ],
)
def test_languages_that_the_model_does_not_have_are_refused(folder_of, family, changes, message):
    with pytest.raises(InputError, match=message):
        side_of(folder_of(family), family, **changes)


def test_more_ids_than_rows_are_refused_before_any_step(tmp_path):
    folder = module_folder(tmp_path / "t5", "t5")
    path = folder / "config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "vocab_size": 20}))
    with pytest.raises(InputError, match="more ids than the model has rows"):
        side_of(folder, "t5")


def test_a_folder_without_a_tokenizer_says_what_to_write(tmp_path):
    folder = module_folder(tmp_path / "t5", "t5")
    (folder / "tokenizer.json").unlink()
    with pytest.raises(InputError, match="has no tokenizer that trimtab reads") as error:
        side_of(folder, "t5")
    assert "save_pretrained" in error.value.problems[0].fix
