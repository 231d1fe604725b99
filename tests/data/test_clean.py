import json

import pytest
from ruamel.yaml import YAML

from trimtab.config.corpora import TrainCorpus
from trimtab.config.corpus_filters import DuplicateFilter
from trimtab.config.transforms import LengthFilter, NormalizeTransform
from trimtab.data.clean import clean_corpora, readable_lines
from trimtab.data.clean_report import render_clean
from trimtab.data.corpus import open_corpora
from trimtab.data.transforms.plan import plan_transforms
from trimtab.errors import InputError

FILTERS = (NormalizeTransform(), DuplicateFilter(), LengthFilter(max=3))


def cleaned(folder, *configs, filters=FILTERS, write=True):
    """The report, and all that was written."""
    corpora = open_corpora(configs, root=folder, cache=folder / "cache", keep_broken=True)
    pipeline = plan_transforms(
        filters,
        corpora,
        cache=folder / "cache",
        read=lambda corpus: readable_lines(corpus, lambda line, error: None),
    )
    out = folder / "out"
    named = {"folder": out, "out": "out"} if write else {}
    report = clean_corpora(corpora, configs, pipeline, **named)
    return report, {
        str(path.relative_to(out)): path.read_text(encoding="utf-8")
        for path in out.glob("**/*")
        if path.is_file()
    }


def counts(corpus):
    return {name: reason.count for name, reason in corpus.dropped.items()}


def test_what_each_filter_drops_is_counted_and_the_rest_written_as_it_is(tmp_path):
    (tmp_path / "a.en").write_text("one\n two  2\none\n\nfour\nthe words are many\n")
    (tmp_path / "a.de").write_text("eins\nzwei 2\neins \nleer\n \nviele\n")
    report, files = cleaned(tmp_path, TrainCorpus(source="a.en", target="a.de"))
    (corpus,) = report.corpora
    assert (corpus.pairs, corpus.kept) == (6, 2)
    assert counts(corpus) == {"empty_source": 1, "empty_target": 1, "duplicate": 1, "length": 1}
    assert [(each.line, each.source) for each in corpus.dropped["duplicate"].examples] == [(3, "one")]
    assert corpus.train_on == {"source": "out/a.en", "target": "out/a.de"}
    assert files == {
        "a.en": "one\n two  2\n",
        "a.de": "eins\nzwei 2\n",
        "dropped/duplicate.tsv": "line\tsource\ttarget\n3\tone\teins \n",
        "dropped/empty_source.tsv": "line\tsource\ttarget\n4\t\tleer\n",
        "dropped/empty_target.tsv": "line\tsource\ttarget\n5\tfour\t \n",
        "dropped/length.tsv": "line\tsource\ttarget\n6\tthe words are many\tviele\n",
    }


@pytest.mark.parametrize("name", ["ui", "ui, new", "2024", "1.5", "null", "No", "ü: {x}", ".5e3"])
def test_what_a_recipe_says_of_a_corpus_is_said_of_what_is_kept(tmp_path, name):
    (tmp_path / "a.en").write_text("one\n")
    (tmp_path / "a.de").write_text("eins\n")
    said = {
        "name": name,
        "tags": ["<2de>"],
        "weight": 2.5,
        "both_directions": True,
        "reverse_tags": ["<2en>"],
    }
    report, _ = cleaned(tmp_path, TrainCorpus(source="a.en", target="a.de", **said))
    assert report.corpora[0].train_on == {"source": "out/a.en", "target": "out/a.de", **said}
    [line] = [line for line in render_clean(report).splitlines() if line.lstrip().startswith("- {")]
    [settings] = YAML(typ="safe").load(line)
    assert TrainCorpus(**settings) == TrainCorpus(source="out/a.en", target="out/a.de", **said)


def test_lines_that_cannot_be_read_are_dropped_with_what_is_wrong(tmp_path):
    (tmp_path / "p.tsv").write_bytes(b"en\tde\none\teins\n\ntoo\tmany\tcolumns\n\xff\tx\ntwo\tzwei\n")
    config = TrainCorpus(pairs="p.tsv", source="en", target="de")
    report, files = cleaned(tmp_path, config)
    (corpus,) = report.corpora
    assert (corpus.pairs, corpus.kept) == (5, 2)
    assert counts(corpus) == {
        "unreadable": 2,
        "empty_source": 1,
        "empty_target": 0,
        "duplicate": 0,
        "length": 0,
    }
    assert [each.line for each in corpus.dropped["unreadable"].examples] == [4, 5]
    assert "another number of columns" in files["dropped/unreadable.tsv"]
    head, *rows = [line.split("\t") for line in files["dropped/unreadable.tsv"].splitlines()]
    assert head == ["line", "problem", "got", "text"]
    assert [row[-1] for row in rows] == [r"too\tmany\tcolumns", r"\xff\tx"]
    assert (files["p.en"], files["p.de"]) == ("one\ntwo\n", "eins\nzwei\n")
    assert not cleaned(tmp_path, config, write=False)[0].corpora[0].train_on


def test_each_of_several_corpora_has_a_folder_and_duplicates_count_across_them(tmp_path):
    for name in ("a", "b"):
        (tmp_path / f"{name}.en").write_text("one\nrow\n" if name == "a" else "one\nnew\n")
    both = {"tags": ("<x>",), "reverse_tags": ("<y>",), "both_directions": True}
    report, files = cleaned(
        tmp_path,
        TrainCorpus(source="a.en", target="b.en", name="first/one", **both),
        TrainCorpus(source="a.en", target="b.en", name="second", tags=("<x>",)),
        TrainCorpus(text="b.en", name="mono"),
    )
    assert [corpus.kept for corpus in report.corpora] == [2, 0, 2]
    assert report.problems == ("second: nothing is kept: every pair is dropped",)
    assert files["first-one/a.en"] == "one\nrow\n"
    assert files["mono/b.en"] == "one\nnew\n"
    assert report.corpora[2].train_on == {"text": "out/mono/b.en", "name": "mono"}


def test_a_dropped_line_is_shown_as_its_file_has_it_whatever_the_format(tmp_path):
    (tmp_path / "a.en").write_bytes(b"one\n\xfcber\n")
    (tmp_path / "a.de").write_text("eins\nuber\n")
    (tmp_path / "j.jsonl").write_text(
        '{"en": "one", "de": "eins"}\n{"en": "two"\n{"en": "two", "dd": "zwei"}\n'
    )
    _, files = cleaned(
        tmp_path,
        TrainCorpus(source="a.en", target="a.de", name="a"),
        TrainCorpus(pairs="j.jsonl", source="en", target="de", name="j"),
    )
    texts = {
        name: [line.split("\t")[-1] for line in text.splitlines()[1:]]
        for name, text in files.items()
        if "unreadable" in name
    }
    assert texts == {
        "a/dropped/unreadable.tsv": [r"\xfcber\tuber"],
        "j/dropped/unreadable.tsv": ['{"en": "two"', '{"en": "two", "dd": "zwei"}'],
    }


def test_documents_stay_documents(tmp_path):
    lines = [
        {"s": ["a", "b b b b", "c"], "t": ["x", "y", "z"]},
        {"s": ["a"], "t": ["x"]},
        {"s": ["d"], "t": ["w"]},
    ]
    (tmp_path / "d.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    report, files = cleaned(tmp_path, TrainCorpus(documents="d.jsonl", source="s", target="t"))
    assert counts(report.corpora[0])["duplicate"] == 1
    assert [json.loads(line) for line in files["d.jsonl"].splitlines()] == [
        {"s": ["a", "c"], "t": ["x", "z"]},
        {"s": ["d"], "t": ["w"]},
    ]
    assert report.corpora[0].train_on == {"documents": "out/d.jsonl", "source": "s", "target": "t"}


def test_readable_lines_are_the_pairs_where_nothing_is_wrong(tmp_path):
    (tmp_path / "a.en").write_text("".join(f"{number}\n" for number in range(10)))
    (corpus,) = open_corpora([TrainCorpus(text="a.en")], root=tmp_path, cache=tmp_path / "cache")

    def unreadable(line: int, error: InputError) -> None:
        pytest.fail(f"{line}: {error}")

    assert list(readable_lines(corpus, unreadable)) == [(line, corpus.pair(line)) for line in range(10)]


def test_documents_that_cannot_be_read_are_counted_and_the_rest_is_kept(tmp_path):
    whole = '{"en": ["one", "two"], "de": ["eins", "zwei"]}'
    broken = ['{"en": ["a"]}', "{", '{"en": ["a"], "de": ["b", "c"]}', "7"]
    (tmp_path / "d.jsonl").write_text("\n".join([whole, *broken, "", whole.replace("o", "0")]) + "\n")
    report, files = cleaned(tmp_path, TrainCorpus(documents="d.jsonl", source="en", target="de"))
    (corpus,) = report.corpora
    assert (corpus.pairs, corpus.kept) == (4 + len(broken), 4)
    assert corpus.dropped["unreadable"].count == len(broken)
    assert [each.line for each in corpus.dropped["unreadable"].examples][:2] == [2, 3]
    assert files["dropped/unreadable.tsv"].count("\n") == 1 + len(broken)
    assert files["d.jsonl"].count("\n") == 2


def test_documents_of_which_none_can_be_read_are_refused_with_what_is_wrong(tmp_path):
    (tmp_path / "d.jsonl").write_text("{\n[]\n")
    with pytest.raises(InputError) as caught:
        cleaned(tmp_path, TrainCorpus(documents="d.jsonl", source="en", target="de"))
    assert [each.where for each in caught.value.problems] == [
        f"{tmp_path}/d.jsonl:1:1",
        f"{tmp_path}/d.jsonl:2:1",
    ]
