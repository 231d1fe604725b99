import pytest

from trimtab.checks.check import check
from trimtab.config.load import parse_recipe
from trimtab.config.reserved import meaning_of
from trimtab.errors import InputError

TRANSLATION = """\
data:
  train: [{source: a.en, target: a.de, both_directions: true, tags: [<2de>], reverse_tags: [<2en>]}]
  valid: {source: b.en, target: b.de, tags: [<2de>]}
model: {preset: tiny}
length: 1000 steps
"""
LANGUAGE_MODEL = TRANSLATION.replace("model: {", "task: language_model\nmodel: {kind: decoder, ")


def spelled(text, tag, *, reverse=False):
    return text.replace("<2en>" if reverse else "<2de>", f"'{tag}'")


@pytest.mark.parametrize("text", [TRANSLATION, LANGUAGE_MODEL], ids=["translation", "language_model"])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("tag", ["<pad>", "<unk>", "<s>", "</s>", "<0x0A>", "<0xFF>"])
def test_a_tag_that_is_a_special_piece_is_refused_by_name(text, tag, reverse):
    with pytest.raises(InputError) as caught:
        parse_recipe(spelled(text, tag, reverse=reverse))
    (problem,) = [each for each in caught.value.problems if "already has a meaning" in each.what]
    assert problem.what.startswith(f"data.train.0.{'reverse_tags' if reverse else 'tags'}: {tag} already")
    assert meaning_of(tag) in problem.what


@pytest.mark.parametrize("text", [TRANSLATION, LANGUAGE_MODEL], ids=["translation", "language_model"])
def test_the_linter_says_it_too(tmp_path, text):
    (tmp_path / "recipe.yaml").write_text(spelled(text, "</s>"))
    report = check([tmp_path / "recipe.yaml"])
    assert any("</s> already has a meaning" in str(each) for each in report.problems)


def test_the_separator_is_a_tag_of_translators_and_none_of_language_models():
    assert parse_recipe(spelled(TRANSLATION, "<sep>")).recipe.data.train[0].tags == ("<sep>",)
    with pytest.raises(
        InputError, match="<sep> already has a meaning in the vocabulary: what stands between"
    ):
        parse_recipe(spelled(LANGUAGE_MODEL, "<sep>"))


@pytest.mark.parametrize(
    ("transform", "tag"),
    [("{kind: protect, symbols: 2}", "<ph1>"), ("{kind: denoise, mask: 0.1, only: [x]}", "<mask>")],
)
def test_so_are_the_symbols_of_transforms_where_there_are_these(transform, tag):
    other = TRANSLATION.replace("  train: [{", "  train: [{name: x, ")
    with_it = other.replace("data:\n", f"data:\n  transforms: [{transform}]\n")
    assert tag in parse_recipe(spelled(other, tag)).recipe.data.train[0].tags
    with pytest.raises(InputError, match=f"{tag} already has a meaning"):
        parse_recipe(spelled(with_it, tag))


def test_other_words_mean_nothing_yet():
    for word in ("<ui>", "<0x0a>", "<0x100>", "</S>", "pad"):
        assert meaning_of(word) is None
