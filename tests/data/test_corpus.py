import gzip
import json
import lzma
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimtab.config.corpora import ParallelFiles, TrainCorpus, ValidFiles
from trimtab.data import corpus as corpora_module
from trimtab.data.corpus import open_corpora, open_corpus, reverse
from trimtab.data.formats.pairs import Pairs
from trimtab.errors import InputError


@pytest.fixture
def root(tmp_path):
    """A folder with the same three pairs in every format."""
    (tmp_path / "prose").mkdir()
    pairs = [("one", "eins"), ("two", "zwei"), ("three", "drei")]
    (tmp_path / "prose" / "train.en").write_text("".join(f"{source}\n" for source, _ in pairs))
    (tmp_path / "prose" / "train.de.gz").write_bytes(
        gzip.compress("".join(f"{target}\n" for _, target in pairs).encode())
    )
    (tmp_path / "pairs.tsv").write_text(
        "en\tde\n" + "".join(f"{source}\t{target}\n" for source, target in pairs)
    )
    packed = gzip.compress("".join(json.dumps({"en": one, "de": two}) + "\n" for one, two in pairs).encode())
    (tmp_path / "pairs.jsonl.gz").write_bytes(packed)
    return tmp_path


ALIGNED = {"source": "prose/train.en", "target": "prose/train.de.gz"}
FORMATS = [
    ALIGNED,
    {"pairs": "pairs.tsv", "source": "en", "target": "de"},
    {"pairs": "pairs.jsonl.gz", "source": "en", "target": "de"},
]


def opened(root, config):
    return open_corpus(config, root=root, cache=root / "cache")


@pytest.mark.parametrize("files", FORMATS, ids=["aligned", "tsv", "jsonl"])
def test_a_corpus_gives_its_pairs_whatever_the_format(root, files):
    corpus = opened(root, ParallelFiles(**files))
    assert [corpus.pair(line) for line in range(len(corpus))] == [
        ("one", "eins"),
        ("two", "zwei"),
        ("three", "drei"),
    ]
    assert (corpus.weight, corpus.tags) == (1.0, ())
    assert len(corpus.fingerprint) == 64
    corpus.check()
    assert pickle.loads(pickle.dumps(corpus)).pair(2) == ("three", "drei")


def test_weight_and_tags_come_from_the_recipe_and_leave_the_fingerprint_alone(root):
    corpus = opened(root, TrainCorpus(**ALIGNED, weight=2.5, tags=("<ui>",)))
    assert (corpus.weight, corpus.tags) == (2.5, ("<ui>",))
    assert corpus.fingerprint == opened(root, ParallelFiles(**ALIGNED)).fingerprint


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("prose/train.en", "prose/train"),
        ("{root}/prose/train.en", "prose/train"),
        ("ui/train.en.xz", "ui/train"),
        ("train.en", "train"),
        ("../train.en", "train"),
        ("wiki/news.2020.de-en.en", "wiki/news.2020.de-en"),
        ("wiki/en", "wiki/en"),
    ],
)
def test_the_name_is_made_from_the_path_as_it_is_written(tmp_path, path, name):
    root = tmp_path / "recipes"
    root.mkdir()
    path = path.format(root=root)
    (root / path).parent.mkdir(exist_ok=True)
    (root / path).write_bytes(lzma.compress(b"one\n") if path.endswith(".xz") else b"one\n")
    assert opened(root, ParallelFiles(source=path, target=path)).name == name


def test_a_packed_file_of_pairs_is_named_without_its_suffixes(root):
    corpus = opened(root, ParallelFiles(pairs=str(root / "pairs.jsonl.gz"), source="en", target="de"))
    assert corpus.name == f"{root.name}/pairs"


def test_a_given_name_is_kept(root):
    assert opened(root, ParallelFiles(**ALIGNED, name="news")).name == "news"


def test_the_same_names_are_numbered(root):
    configs = [ParallelFiles(**ALIGNED, name=name) for name in ("a", "a-2", "a", "b", "a", "a-2")]
    names = [corpus.name for corpus in open_corpora(configs, root=root, cache=root / "cache")]
    assert names == ["a", "a-2", "a-3", "b", "a-4", "a-2-2"]


def test_an_empty_corpus_is_an_error(tmp_path):
    (tmp_path / "train.en").touch()
    with pytest.raises(InputError, match=r"train\.en: the corpus is empty"):
        opened(tmp_path, ParallelFiles(source="train.en", target="train.en"))
    (tmp_path / "pairs.tsv").write_text("en\tde\n")
    with pytest.raises(InputError, match=r"pairs\.tsv: the corpus is empty"):
        opened(tmp_path, ParallelFiles(pairs="pairs.tsv", source="en", target="de"))


def test_all_corpora_that_cannot_be_opened_are_named_at_once(root):
    configs = [ParallelFiles(source="no.en", target="no.de"), ParallelFiles(**ALIGNED)]
    configs.append(ParallelFiles(pairs="no.tsv", source=1, target=2))
    with pytest.raises(InputError) as caught:
        open_corpora(configs, root=root, cache=root / "cache")
    assert [problem.what.split(":")[0].split("/")[-1] for problem in caught.value.problems] == [
        "no.en",
        "no.tsv",
    ]


@pytest.mark.parametrize("files", FORMATS, ids=["aligned", "tsv", "jsonl"])
def test_how_long_a_line_is_is_known_before_it_is_read(root, files):
    corpus = opened(root, ParallelFiles(**files))
    lengths = [corpus.num_bytes(line) for line in range(3)]
    assert lengths[2] == max(lengths)
    assert corpus.longer_than(lengths[2] - 1) == [2]
    assert corpus.longer_than(lengths[2]) == []
    assert reverse(corpus, tags=()).longer_than(lengths[2] - 1) == [2]
    assert reverse(corpus, tags=()).num_bytes(2) == lengths[2]


def test_a_line_beyond_all_limits_is_not_read_and_counts_as_blank(root, monkeypatch):
    corpus = opened(root, ParallelFiles(**ALIGNED))
    monkeypatch.setattr(corpora_module, "MOST_BYTES", 4)
    assert [corpus.pair(line) for line in range(3)] == [("one", "eins"), ("two", "zwei"), ("", "")]


def test_checking_reads_the_first_lines_and_some_spread_over_the_rest(root):
    lines = [json.dumps({"en": "a", "de": "b"})] * 1000
    lines[3], lines[500] = "{", '{"en": "a"}'
    (root / "bad.jsonl").write_text("\n".join(lines))
    corpus = opened(root, ParallelFiles(pairs="bad.jsonl", source="en", target="de"))
    corpus.check(3)
    with pytest.raises(InputError) as caught:
        corpus.check(4)
    assert [problem.where.split(":")[1] for problem in caught.value.problems] == ["4"]
    with pytest.raises(InputError) as caught:
        corpus.check(700)
    assert [problem.where.split(":")[1] for problem in caught.value.problems] == ["4", "501"]


def test_checking_reads_the_last_line_however_few_it_reads(root):
    (root / "cut.jsonl").write_text('{"en": "a", "de": "b"}\n' * 1000 + '{"en": "a", "d')
    corpus = opened(root, ParallelFiles(pairs="cut.jsonl", source="en", target="de"))
    with pytest.raises(InputError, match="line 1001 is not valid JSON"):
        corpus.check(1)


def test_checking_stops_after_ten_problems(root):
    (root / "bad.jsonl").write_text("{\n" * 1000)
    corpus = opened(root, ParallelFiles(pairs="bad.jsonl", source="en", target="de"))
    with pytest.raises(InputError) as caught:
        corpus.check()
    assert len(caught.value.problems) == 10


DOCUMENTS = '{"id": 1, "text": "one\\ntwo"}\n{"id": 2, "text": "three"}\n'


def open_text(root, name, content, *, passage_bytes=64, **options):
    (root / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    files = TrainCorpus.model_validate({"text": name})
    return open_corpus(files, root=root, cache=root / "cache", passage_bytes=passage_bytes, **options)


@pytest.mark.parametrize("name", ["a.json", "a.txt", "a", "a.txt.gz", "a.JSONL"])
@pytest.mark.parametrize("before", ["", "\ufeff", " \n\n", "\ufeff\n"])
def test_documents_of_jsonl_under_another_name_are_not_read_as_plain_text(tmp_path, name, before):
    with pytest.raises(InputError, match="contains JSON, but its name says plain text") as caught:
        open_text(tmp_path, name, (before + DOCUMENTS).encode())
    (problem,) = caught.value.problems
    assert problem.fix.startswith("call it a.jsonl")


@pytest.mark.parametrize("name", ["stdin-1", "stdin-1.gz"])
def test_what_came_through_a_pipe_is_jsonl_by_its_content(tmp_path, name):
    corpus = open_text(tmp_path, name, DOCUMENTS.encode(), has_name=False)
    assert [corpus.passage(line).text for line in range(len(corpus))] == ["one\ntwo", "three"]
    plain = open_text(tmp_path, "stdin-2", b"{one}\ntwo\n\nthree\n", has_name=False)
    assert [plain.passage(line).text for line in range(len(plain))] == ["{one}\ntwo", "three"]
    with pytest.raises(InputError, match="line 3 is not valid JSON"):
        open_text(tmp_path, "stdin-3", DOCUMENTS.encode() + b"no object\n", has_name=False)


@pytest.mark.parametrize("name", ["a.json", "a.txt"])
@pytest.mark.parametrize(
    "text",
    ["{", '{"text": 1}', '["text", she said', "{name}, dear", 'a\n{"text": "b"}'],
)
def test_a_text_that_begins_like_json_stays_one(tmp_path, name, text):
    assert open_text(tmp_path, name, text.encode()).passage(0).text == text


@pytest.mark.parametrize("name", ["a.jsonl", "a.txt"])
def test_sentences_of_one_language_are_not_read_from_jsonl(tmp_path, name):
    with pytest.raises(InputError, match="each of its lines would count as a sentence"):
        open_text(tmp_path, name, DOCUMENTS.encode(), passage_bytes=None)
    assert open_text(tmp_path, "b.txt", b"{one}\n", passage_bytes=None).pair(0) == ("{one}", "{one}")


TEXTS = st.sampled_from(
    ["one ship", "zwölf Söhne", "", "a\u2028b", "x\r", "the\0small ship", "0123456789" * 3]
)
EVERY_KIND = [
    ({"source": "train.en", "target": "train.de"}, {}),
    ({"pairs": "pairs.tsv", "source": 1, "target": 2}, {"pairs.tsv": b"no tab"}),
    ({"pairs": "named.tsv", "source": "first", "target": "second"}, {"named.tsv": b"no tab"}),
    ({"pairs": "pairs.jsonl", "source": "en", "target": "de"}, {"pairs.jsonl": b"{"}),
]


def write_files(folder, rows, *, spoilt, spoil):
    """The rows in files of each kind; line number `damaged` is malformed in those that `damage` names."""
    tsv = ["\t".join(row).encode() for row in rows]
    files = {
        "train.en": [source.encode() for source, _ in rows],
        "train.de": [target.encode() for _, target in rows],
        "pairs.tsv": tsv,
        "named.tsv": [b"first\tsecond", *tsv],
        "pairs.jsonl": [json.dumps({"en": source, "de": target}).encode() for source, target in rows],
    }
    for name, bad in spoil.items():
        files[name][spoilt + (name == "named.tsv")] = bad
    for name, lines in files.items():
        (folder / name).write_bytes(b"".join(line + b"\n" for line in lines))


@pytest.mark.parametrize(("files", "bad"), EVERY_KIND, ids=["aligned", "tsv", "tsv with names", "jsonl"])
@given(
    rows=st.lists(st.tuples(TEXTS, TEXTS), min_size=2, max_size=12),
    is_bad=st.booleans(),
    at_once=st.sampled_from([1, 3, 2**16]),
    most=st.sampled_from([8, 2**24]),
    data=st.data(),
)
def test_several_pairs_at_once_are_those_of_one_by_one_up_to_a_malformed_one(
    tmp_path_factory, files, bad, rows, is_bad, at_once, most, data
):
    root, spoilt = tmp_path_factory.mktemp("several"), data.draw(st.integers(1, len(rows) - 1))
    bad = bad or {data.draw(st.sampled_from(["train.en", "train.de"])): b"\xff"}
    write_files(root, rows, spoilt=spoilt, spoil=bad if is_bad else {})
    corpus = opened(root, ParallelFiles(**files))
    lines = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=20))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(corpora_module, "MOST_BYTES", most)
        patch.setattr(corpora_module, "_LINES_AT_ONCE", at_once)
        for each in (corpus, reverse(corpus, tags=())):
            pairs, said = until_bad(each.pair(line) for line in lines)
            assert until_bad(each.several(lines)) == (pairs, said)
            assert bool(said) == (is_bad and spoilt in lines and each.num_bytes(spoilt) <= most)


def until_bad(pairs):
    """The pairs up to the first that cannot be read, and what is said of that one."""
    found = []
    try:
        for pair in pairs:
            found.append(pair)
    except InputError as error:
        return found, error.problems
    return found, ()


def test_several_pairs_of_documents_and_passages_are_those_of_one_by_one(tmp_path):
    (tmp_path / "books.jsonl").write_text(
        "".join(json.dumps({"en": [f"{n} a", f"{n} b"], "de": [f"{n} c", f"{n} d"]}) + "\n" for n in range(9))
    )
    books = opened(tmp_path, ParallelFiles(documents="books.jsonl", source="en", target="de"))
    (tmp_path / "text.txt").write_text("one\n\ntwo and three\n\nfour\n")
    text = open_corpus(ValidFiles(text="text.txt"), root=tmp_path, cache=tmp_path / "cache", passage_bytes=8)
    for corpus, lines in ((books, [17, 0, 5, 4]), (text, [2, 0, 1])):
        assert list(corpus.several(lines)) == [corpus.pair(line) for line in lines]


def _of_xml(begins, unit, ends):
    return (
        f'<?xml version="1.0"?>\n<!-- a\ncomment -->\n{begins}\n\n'
        + unit("one", "eins")
        + "\n"
        + unit("two", "zwei")
        + f"\n{ends}\n"
    )


BY_SUFFIX = {
    ".tsv": lambda: "en\tde\none\teins\ntwo\tzwei\n",
    ".jsonl": lambda: '{"en": "one", "de": "eins"}\n{"en": "two", "de": "zwei"}\n',
    ".po": lambda: (
        '# a catalogue\nmsgid ""\nmsgstr "charset=UTF-8"\n\n'
        'msgid ""\n"one"\nmsgstr "eins"\n\n#~ msgid "old"\n#~ msgstr "alt"\n\n#: main.c\nmsgid "two"\nmsgstr "zwei"\n'
    ),
    ".tmx": lambda: _of_xml(
        "<tmx><body>",
        lambda one, two: (
            f'<tu>\n <tuv xml:lang="en"><seg>{one}</seg></tuv>\n <tuv xml:lang="de"><seg>{two}</seg></tuv>\n</tu>'
        ),
        "</body></tmx>",
    ),
    ".xlf": lambda: _of_xml(
        '<xliff><file source-language="en"\n target-language="de"><body>',
        lambda one, two: f"<trans-unit>\n<source>{one}</source>\n<target>{two}</target>\n</trans-unit>",
        "</body></file></xliff>",
    ),
}
HOLD_NO_LINES = {".parquet"}


def test_each_format_of_pairs_is_tested_for_its_lines():
    suffixes = {each.suffixes[0] for each in (*corpora_module.PAIR_FILES, corpora_module.tsv.FORMAT)}
    assert suffixes == set(BY_SUFFIX) | HOLD_NO_LINES


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("suffix", BY_SUFFIX)
def test_a_pair_is_placed_on_the_line_where_an_editor_shows_it(tmp_path, suffix, packed):
    text = BY_SUFFIX[suffix]()
    path = tmp_path / f"pairs{suffix}{'.gz' if packed else ''}"
    path.write_bytes(gzip.compress(text.encode()) if packed else text.encode())
    names = ("msgid", "msgstr") if suffix == ".po" else ("en", "de")
    config = ParallelFiles(pairs=path.name, source=names[0], target=names[1])
    for _ in range(2):  # from the file, then from the cache
        corpus = pickle.loads(pickle.dumps(opened(tmp_path, config)))
        assert [corpus.pair(line) for line in range(2)] == [("one", "eins"), ("two", "zwei")]
        for line, source in enumerate(["one", "two"]):
            number = corpus.line_number(line)
            assert corpus.place(line) == f"{path}:{number}"
            # The unit begins on that line: the source is in it or in one of the next two, and in none before it.
            lines = text.splitlines()
            held = [row for row, content in enumerate(lines, 1) if source in content]
            assert 0 <= held[0] - number <= 2
            assert lines[number - 1].strip(), "an empty line"
            assert isinstance(corpus.pairs, Pairs)
            assert corpus.raw_text(line) in ("", lines[number - 1])


def test_what_is_known_of_pairs_is_known_of_those_with_factors_beside_them(tmp_path):
    (tmp_path / "pairs.po").write_text(BY_SUFFIX[".po"]() + '\nmsgid "three"\nmsgstr ""\n')
    (tmp_path / "case").write_text("low\nlow\n")
    names = {"pairs": "pairs.po", "source": "msgid", "target": "msgstr"}
    corpus = opened(tmp_path, ParallelFiles(**names, factors={"case": "case"}))
    assert corpus.passed_over == opened(tmp_path, ParallelFiles(**names)).passed_over != {}
    assert isinstance(corpus.pairs, Pairs)
    assert isinstance(reverse(opened(tmp_path, ParallelFiles(**names)), tags=()).pairs, Pairs)
