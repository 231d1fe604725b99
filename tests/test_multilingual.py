"""A recipe from a folder of corpora: what is found by its name, what is counted, and what is refused."""

import os
from pathlib import Path

import pytest

from trimtab.config.load import parse_recipe
from trimtab.config.modular_model import ModularModel
from trimtab.errors import InputError
from trimtab.multilingual import multilingual_recipe


def write(folder: Path, **files: int) -> None:
    """Files with so many lines, by their names with `__` for a slash and `_` for a point."""
    for name, lines in files.items():
        path = folder / name.replace("__", "/").replace("_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("a line\n" * lines, encoding="utf-8")


@pytest.fixture
def corpora(tmp_path: Path) -> Path:
    write(tmp_path, news__train_en=3, news__train_de=3, talks__train_en=2, talks__train_pt=2)
    write(tmp_path, dev_en=1, dev_de=1, test_en=1, test_de=1, news__train_meta=3)
    return tmp_path


def test_aligned_files_become_directions_both_ways(corpora: Path) -> None:
    text = multilingual_recipe(["en", "de", "pt"], data=corpora, out=corpora / "many.yaml")
    recipe = parse_recipe(text, path=corpora / "many.yaml").recipe
    assert isinstance(recipe.model, ModularModel)
    assert set(recipe.model.directions) == {"en-de", "de-en", "en-pt", "pt-en"}
    assert [(each.source, each.target) for each in recipe.data.train] == [
        ("news/train.en", "news/train.de"),
        ("talks/train.en", "talks/train.pt"),
    ]
    assert set(recipe.data.valid) == {"en-de", "de-en"}
    assert recipe.data.valid["de-en"].tags == ("<2en>",)
    assert recipe.data.temperature == 5
    assert "3 lines" in text
    assert "test" not in "".join(str(each.source) for each in recipe.data.train)


def test_files_of_many_languages_give_every_pair(tmp_path: Path) -> None:
    write(tmp_path, train_en=2, train_de=2, train_fr=2)
    recipe = parse_recipe(multilingual_recipe(["en", "de", "fr"], data=tmp_path)).recipe
    assert isinstance(recipe.model, ModularModel)
    assert len(recipe.model.directions) == 6


def test_sides_may_be_named_src_and_tgt(tmp_path: Path) -> None:
    (tmp_path / "opus.en-de.src").write_text("a\n")
    (tmp_path / "opus.en-de.tgt").write_text("b\n")
    text = multilingual_recipe(["de", "en"], data=tmp_path)
    assert "target: " in text
    recipe = parse_recipe(text).recipe
    (corpus,) = recipe.data.train
    assert (corpus.direction, str(corpus.source).endswith(".tgt")) == ("de-en", True)


def test_the_code_of_norwegian_stays_a_text(tmp_path: Path) -> None:
    write(tmp_path, train_en=2, train_no=2)
    recipe = parse_recipe(multilingual_recipe(["en", "no"], data=tmp_path)).recipe
    assert isinstance(recipe.model, ModularModel)
    assert recipe.model.decoder_components["no"]


@pytest.mark.parametrize(
    ("languages", "words"),
    [
        (["en"], "at least two languages"),
        (["en", "en"], "named twice"),
        (["de", "ger"], "named twice"),
        (["en", "de", "ja"], "no aligned files for ja"),
        (["en", "d!"], "no language code"),
    ],
)
def test_languages_that_cannot_be_are_refused(corpora: Path, languages: list[str], words: str) -> None:
    with pytest.raises(InputError, match=words):
        multilingual_recipe(languages, data=corpora)


def test_unaligned_files_are_all_named_and_a_missing_folder_is(corpora: Path) -> None:
    write(corpora, a__train_en=3, a__train_de=2, b__train_en=1, b__train_de=2)
    with pytest.raises(InputError, match="not aligned") as caught:
        multilingual_recipe(["en", "de"], data=corpora)
    assert len(caught.value.problems) == 2
    with pytest.raises(InputError, match="no such folder"):
        multilingual_recipe(["en", "de"], data=corpora / "nowhere")


ALIKE = {
    "en": "the ship is in the harbour and the captain sleeps\n",
    "de": "das schiff ist in dem hafen und der kapitän schläft\n",
    "nl": "het schip is in de haven en de kapitein slaapt\n",
    "ru": "корабль стоит в гавани и капитан спит\n",
    "uk": "корабель стоїть у гавані і капітан спить\n",
}


def test_languages_whose_texts_are_alike_share_layers(tmp_path: Path) -> None:
    for language, line in ALIKE.items():
        (tmp_path / f"train.{language}").write_text(line * 3, encoding="utf-8")
    languages = ["en", "ru", "de", "uk", "nl"]
    text = multilingual_recipe(languages, data=tmp_path, groups=2)
    assert "similar texts share: en, de, nl; ru, uk" in text
    model = parse_recipe(text).recipe.model
    assert isinstance(model, ModularModel)
    assert model.directions["en-uk"].decoder == ("shared", "ru_uk", "uk")
    assert model.directions["ru-nl"].decoder == ("shared", "en_de_nl", "nl")
    depths = {sum(len(each.numbers) for each in model.layers(name, "decoder")) for name in model.directions}
    assert len(depths) == 1
    for groups in (1, 5):
        with pytest.raises(InputError, match="wrong number of groups"):
            multilingual_recipe(languages, data=tmp_path, groups=groups)


def test_a_language_without_relatives_keeps_its_layers(tmp_path: Path) -> None:
    for language in ("en", "de", "ru"):
        (tmp_path / f"train.{language}").write_text(ALIKE[language] * 3, encoding="utf-8")
    model = parse_recipe(multilingual_recipe(["en", "de", "ru"], data=tmp_path, groups=2)).recipe.model
    assert isinstance(model, ModularModel)
    assert model.directions["en-ru"].decoder == ("shared", "ru")
    assert (
        model.decoder_components["ru"] == model.decoder_components["de"] + model.decoder_components["en_de"]
    )


def test_each_language_restores_its_own_corrupted_lines(tmp_path: Path) -> None:
    write(tmp_path, train_en=2, train_ja=2, dev_en=1, dev_ja=1)
    recipe = parse_recipe(multilingual_recipe(["en", "ja"], data=tmp_path, denoise=True)).recipe
    assert isinstance(recipe.model, ModularModel)
    assert list(recipe.model.directions) == ["en-ja", "ja-en", "en-en", "ja-ja"]
    assert [each.tags for each in recipe.data.train if each.text] == [("<2en>",), ("<2ja>",)]
    units = {each.only: each.unit for each in recipe.data.transforms if each.kind == "denoise"}
    assert units == {("en alone 1",): "words", ("ja alone 1",): "pieces"}
    assert "en-en" not in recipe.data.valid


@pytest.mark.parametrize("language", ["zh-Hans", "pt_BR", "no", "to", "sr-Latn-RS"])
def test_any_code_of_a_language_gives_a_recipe_that_loads(tmp_path: Path, language: str) -> None:
    for each in (language, "en"):
        (tmp_path / f"train.{each}").write_text("a line\n", encoding="utf-8")
        (tmp_path / f"dev.{each}").write_text("a line\n", encoding="utf-8")
    recipe = parse_recipe(multilingual_recipe([language, "en"], data=tmp_path)).recipe
    (corpus,) = recipe.data.train
    assert (corpus.direction, corpus.reverse_direction) == (f"{language}-en", f"en-{language}")
    assert set(recipe.data.valid) == {f"{language}-en", f"en-{language}"}


def test_a_file_whose_name_is_no_text_is_named(tmp_path: Path) -> None:
    for language in (b"en", b"de"):
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/x\xff." + language)).write_text("a\n", encoding="utf-8")
    with pytest.raises(InputError, match="a recipe cannot contain"):
        multilingual_recipe(["en", "de"], data=tmp_path)
