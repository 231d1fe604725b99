from pathlib import Path

from trimtab.config.load import parse_recipe
from trimtab.config.paths import resolve_paths

TEXT = """\
data:
  {root}
  train:
    - {source: train.en, target: ../train.de}
    - {pairs: sub/pairs.tsv, source: en, target: de}
  valid: {source: /abs/dev.en, target: ~/dev.de}
  tokenizer: {path: spm.model}
model: {preset: tiny}
length: 1000 steps
"""


def resolved(root: str = ""):
    text = TEXT.replace("  {root}\n", f"  root: {root}\n" if root else "")
    return resolve_paths(parse_recipe(text, path=Path("/project/recipes/r.yaml"))).data


def test_paths_start_from_the_folder_of_the_recipe():
    data = resolved()
    assert data.train[0].source == "/project/recipes/train.en"
    assert data.train[0].target == "/project/train.de"
    assert data.tokenizer.path == "/project/recipes/spm.model"


def test_columns_are_no_paths():
    pairs = resolved().train[1]
    assert (pairs.pairs, pairs.source, pairs.target) == ("/project/recipes/sub/pairs.tsv", "en", "de")


def test_absolute_paths_stay_and_a_tilde_is_the_home_folder():
    valid = resolved().valid["valid"]
    assert (valid.source, valid.target) == ("/abs/dev.en", str(Path.home() / "dev.de"))


def test_the_root_is_applied_and_then_dropped():
    data = resolved(root="../corpora")
    assert data.root is None
    assert data.train[0].source == "/project/corpora/train.en"
    assert data.train[0].target == "/project/train.de"
    assert resolved(root="/data").train[0].source == "/data/train.en"


def test_a_relative_recipe_path_gives_absolute_paths(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    text = TEXT.replace("  {root}\n", "")
    data = resolve_paths(parse_recipe(text, path=Path("r.yaml"))).data
    assert data.train[0].source == str(tmp_path / "train.en")


def test_everything_else_stays_as_it_is():
    loaded = parse_recipe(TEXT.replace("  {root}\n", ""), path=Path("/r.yaml"))
    assert resolve_paths(loaded).model_copy(update={"data": loaded.recipe.data}) == loaded.recipe


def test_a_text_in_one_language_is_resolved_on_both_sides():
    text = TEXT.replace("  {root}\n", "").replace(
        "{source: train.en, target: ../train.de}", "{text: mono.de}"
    )
    corpus = resolve_paths(parse_recipe(text, path=Path("/project/r.yaml"))).data.train[0]
    assert {corpus.text, corpus.source, corpus.target} == {"/project/mono.de"}
