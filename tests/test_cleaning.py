import pytest

from tests.language_run import language_recipe
from trimtab.cleaning import clean_files, clean_recipe, render_clean, usual_filters
from trimtab.config.load import load_recipe, parse_recipe
from trimtab.errors import InputError
from trimtab.inspection import inspect_recipe
from trimtab.tasks.text.datasets import REMOVES_LINES

RECIPE = """\
data:
  train: [{source: a.en, target: a.de}]
  transforms: [{kind: normalize}, {kind: duplicate}, {kind: letters}]
model: {preset: tiny}
length: 10 steps
"""
PAIRS = [
    ("The first sentence of this small corpus.", "Der erste Satz dieses kleinen Korpus."),
    ("The first sentence of this small corpus.", "Der erste Satz  dieses kleinen Korpus."),
    ("A sentence that nobody has translated.", "A sentence that nobody has translated."),
    ("1.000 - 2.000 - 3.000", "1,000 - 2,000 - 3,000"),
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TRIMTAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    for place, side in enumerate(("en", "de")):
        (tmp_path / f"a.{side}").write_text("".join(pair[place] + "\n" for pair in PAIRS))
    return tmp_path


def dropped(report):
    (corpus,) = report.corpora
    return {name: reason.count for name, reason in corpus.dropped.items() if reason.count}


def test_the_filters_of_a_recipe_are_applied_and_its_lines_named(folder):
    loaded = parse_recipe(RECIPE, path=folder / "r.yaml")
    assert dropped(clean_recipe(loaded)) == {"duplicate": 1, "letters": 1}
    report = clean_recipe(loaded, out="clean")
    assert (folder / "clean" / "a.en").read_text() == f"{PAIRS[0][0]}\n{PAIRS[2][0]}\n"
    assert sorted(path.name for path in (folder / "clean" / "dropped").iterdir()) == [
        "duplicate.tsv",
        "letters.tsv",
    ]
    again = RECIPE.replace("{source: a.en, target: a.de}", render_clean(report).splitlines()[-1].strip(" -"))
    assert not dropped(clean_recipe(parse_recipe(again, path=folder / "again.yaml")))
    with pytest.raises(InputError, match=r"data\.train\.0.*a\.enn") as caught:
        clean_recipe(parse_recipe(RECIPE.replace("a.en,", "a.enn,"), path=folder / "r.yaml"), out="never")
    assert caught.value.problems[0].where.startswith(str(folder / "r.yaml:2"))
    assert not (folder / "never").exists()


@pytest.mark.slow
def test_two_files_are_cleaned_by_the_usual_filters(folder):
    assert dropped(clean_files("a.en", "a.de")) == {"duplicate": 1, "copy": 2}
    pytest.importorskip("py3langid")
    english = {"source_language": "en", "target_language": "de"}
    (folder / "b.de").write_text("".join(f"{pair[0]}\n" for pair in PAIRS[:1]))
    (folder / "b.en").write_text(f"{PAIRS[2][0]}\n")
    report = clean_files("b.en", "b.de", **english)
    assert dropped(report) == {"language": 1}
    assert report.problems


def test_one_file_with_columns_is_cleaned_too(folder):
    (folder / "p.tsv").write_text("".join("\t".join(pair) + "\n" for pair in PAIRS))
    assert dropped(clean_files(1, 2, pairs="p.tsv", out="clean")) == {"duplicate": 1, "copy": 2}
    assert (folder / "clean" / "p.target").read_text() == f"{PAIRS[0][1]}\n"


@pytest.mark.parametrize(("sides", "pairs"), [((1, 2), None), ((1, 0), "p.tsv"), (("", "a.de"), None)])
def test_sides_that_no_file_has_are_wrong_input(folder, sides, pairs):
    with pytest.raises(InputError, match="data clean: ") as caught:
        clean_files(*sides, pairs=pairs)
    (problem,) = caught.value.problems
    assert all((problem.got, problem.allowed, problem.fix))


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("p.tsv", "en\tde\none\teins\n", "a\tb\tc\n"),
        ("p.jsonl", '{"en": "one", "de": "eins"}\n', '{"en": 1}\n'),
    ],
)
def test_what_an_error_says_of_broken_lines_is_so(folder, name, good, bad):
    (folder / name).write_text(good + bad)
    recipe = RECIPE.replace("{source: a.en, target: a.de}", f"{{pairs: {name}, source: en, target: de}}")
    loaded = parse_recipe(recipe, path=folder / "r.yaml")
    with pytest.raises(InputError) as caught:
        inspect_recipe(loaded)
    assert "`trimtab data clean RECIPE --out DIR` removes all such lines" in caught.value.problems[0].fix
    (corpus,) = clean_recipe(loaded, out="clean").corpora
    assert (corpus.kept, corpus.dropped["unreadable"].count) == (1, 1)


@pytest.mark.parametrize(
    ("line", "data"),
    [
        (
            "a\tb\tc\n",
            "train: [{source: a.en, target: a.de}]\n  valid: {pairs: p.tsv, source: en, target: de}",
        ),
        (
            "a b|X\tc\n",
            'train: [{pairs: p.tsv, source: en, target: de, factor_separator: "|"}]\n'
            "  source_factors: [{kind: file, name: pos}]",
        ),
    ],
)
def test_cleaning_is_not_advised_where_it_does_not_help(folder, line, data):
    (folder / "p.tsv").write_text("en\tde\none|X\teins\n" + line)
    recipe = RECIPE.replace("train: [{source: a.en, target: a.de}]", data)
    recipe = recipe.replace("  transforms: [{kind: normalize}, {kind: duplicate}, {kind: letters}]\n", "")
    with pytest.raises(InputError) as caught:
        inspect_recipe(parse_recipe(recipe, path=folder / "r.yaml"))
    (problem,) = caught.value.problems
    assert "p.tsv:3" in problem.where
    assert problem.fix
    assert "data clean" not in problem.fix


def test_word_alignments_are_kept_with_their_pairs_and_dropped_where_they_do_not_fit(folder):
    (folder / "a.links").write_text("0-0 1-1\n2-2\n0-0 6-99\n3-3\n")
    recipe = RECIPE.replace("target: a.de}", "target: a.de, alignments: a.links}")
    recipe = recipe.replace("{kind: normalize}, {kind: duplicate}", "{kind: normalize}")
    recipe += "loss: {guided_alignment: {weight: 0.1}}\n"
    loaded = parse_recipe(recipe, path=folder / "r.yaml")
    with pytest.raises(InputError, match=r"a\.links: line 3 .*") as caught:
        inspect_recipe(loaded)
    assert REMOVES_LINES in caught.value.problems[0].fix
    report = clean_recipe(loaded, out="clean")
    assert dropped(report) == {"unreadable": 1, "letters": 1}
    assert (folder / "clean" / "a.links").read_text() == "0-0 1-1\n2-2\n"
    again = recipe.replace(
        "{source: a.en, target: a.de, alignments: a.links}", render_clean(report).splitlines()[-1].strip(" -")
    )
    assert "alignments: clean/a.links" in again
    assert not dropped(clean_recipe(parse_recipe(again, path=folder / "again.yaml")))


def test_what_is_there_is_never_overwritten(folder):
    with pytest.raises(InputError, match=r"--out a\.en: already exists"):
        clean_files("a.en", "a.de", out="a.en")


def test_a_language_that_is_not_known_is_refused():
    with pytest.raises(InputError, match="--target-language") as caught:
        usual_filters("en", "german")
    assert caught.value.problems[0].got == "german"


def test_texts_alone_are_no_pairs_to_clean(tmp_path):
    with pytest.raises(InputError, match="trimtab cleans pairs"):
        clean_recipe(load_recipe(language_recipe(tmp_path)))
