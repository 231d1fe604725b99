from tests.for_each import for_each
from trimtab.config.corpora import TrainCorpus
from trimtab.data.kept_files import CorpusFiles, folder_names, kept_names


@for_each(
    ("config", "names"),
    [
        ({"source": "x/train.en.xz", "target": "train.de"}, ("train.en", "train.de")),
        ({"source": "en/train.txt", "target": "de/train.txt"}, ("train.txt.source", "train.txt.target")),
        ({"pairs": "m.tmx.gz", "source": "en", "target": "pt-BR"}, ("m.en", "m.pt-BR")),
        ({"pairs": "p.tsv", "source": 1, "target": 2}, ("p.source", "p.target")),
        ({"pairs": "p.jsonl", "source": "a.en", "target": "b.en"}, ("p.source", "p.target")),
        (
            {"dataset": "data/opus", "source": "translation.en", "target": "translation.de"},
            ("opus.en", "opus.de"),
        ),
        ({"pairs": "p.tsv", "source": "../x", "target": "a/b"}, ("p.x", "p.a-b")),
        ({"documents": "d.jsonl.zst", "source": "s", "target": "t"}, ("d.jsonl",)),
        ({"text": "mono.de.gz"}, ("mono.de",)),
    ],
)
def test_files_are_called_as_those_of_the_corpus(config, names):
    assert kept_names(TrainCorpus(**config)) == names


def test_folders_are_called_as_the_corpora_and_differ():
    assert folder_names(["a"]) == [""]
    assert folder_names(["a/b", "a b", "..", "c"]) == ["a-b", "a-b-2", "corpus", "c"]


def test_line_ends_and_tabs_inside_a_text_become_spaces(tmp_path):
    with CorpusFiles(tmp_path / "new", TrainCorpus(pairs="m.tmx", source="en", target="de")) as files:
        files.keep("m.tmx:1", ("a\r\nb\rc", "d\te"))
        files.drop("copy", 2, ("a\nb", "d\te"))
    written = {path.name: path.read_bytes() for path in tmp_path.glob("**/*.*")}
    assert written == {
        "m.en": b"a b c\n",
        "m.de": b"d\te\n",
        "copy.tsv": b"line\tsource\ttarget\n2\ta b\td e\n",
    }
