import os
import signal
import subprocess
import sys
from types import SimpleNamespace

import pytest

from tests.cli.refusal import has_four_parts, refused
from trimtab.cli import translate as module
from trimtab.decode.sampling import Sampling
from trimtab.decode.search import Search
from trimtab.decode.setup import TranslationCounts
from trimtab.errors import input_error


class Upper:
    """Translates into capitals."""

    setup = SimpleNamespace(tokenizer=None)

    def __init__(self, spec: str, **options) -> None:
        self.spec, self.options = spec, options

    def translate_stream(self, lines, text, *, name, prefixes) -> None:
        self.prefixes = prefixes if prefixes is None or isinstance(prefixes, str) else list(prefixes)
        for line in lines:
            text.write(line.decode().upper())
        text.flush()

    def write_n_best(self, lines, text, *, n, name, prefixes) -> None:
        for number, line in enumerate(lines):
            text.write(f"{number} {line.decode()}" * n)


@pytest.fixture
def loaded(stand_in):
    translators = []

    def load_translator(spec, **options):
        translators.append(Upper(spec, **options))
        return translators[-1]

    stand_in("inference", load_translator=load_translator)
    return translators


def test_stdin_goes_to_stdout(call, loaded):
    result = call("translate", "runs/x@last", stdin="eins\nzwei ö\n")
    assert (result.exit_code, result.stdout) == (0, "EINS\nZWEI Ö\n")
    assert loaded[0].spec == ["runs/x@last"]
    assert loaded[0].options == {"search": Search(), "device": None, "tags": (), "ensemble": "linear"}
    assert loaded[0].prefixes is None


def test_files_and_options(call, loaded, tmp_path):
    (tmp_path / "in").write_text("a\n")
    result = call("translate", "run", "--input", tmp_path / "in", "--output", tmp_path / "out", "--beam", 1,
                  "--length-penalty", 0.6, "--device", "cpu", "--tag", "<a>", "--tag", "<b>")  # fmt: skip
    assert (result.exit_code, result.stdout) == (0, "")
    assert (tmp_path / "out").read_text() == "A\n"
    assert loaded[0].options == {
        "search": Search(beam=1, length_penalty=0.6),
        "device": "cpu",
        "tags": ["<a>", "<b>"],
        "ensemble": "linear",
    }


def test_several_runs_translate_together(call, loaded):
    assert call("translate", "one", "two@500", "--ensemble-mode", "log_linear", stdin="a\n").exit_code == 0
    assert loaded[0].spec == ["one", "two@500"]
    assert loaded[0].options["ensemble"] == "log_linear"


def test_what_shapes_the_search_is_handed_on(call, loaded):
    result = call("translate", "run", "--no-repeat-ngram", 3, "--sample", "--temperature", 0.5, "--top-k", 7,
                  "--top-p", 0.9, "--epsilon", 0.02, "--seed", 11, "--n-best", 2, stdin="a\nb\n")  # fmt: skip
    sampling = Sampling(temperature=0.5, top_k=7, top_p=0.9, epsilon=0.02, seed=11)
    assert loaded[0].options["search"] == Search(no_repeat_ngram=3, sampling=sampling)
    call("translate", "run", "--stop", "enough", stdin="a\n")
    assert loaded[1].options["search"] == Search(stop="enough")
    assert result.stdout == "0 a\n0 a\n1 b\n1 b\n"


def test_prefixes_are_one_text_or_a_line_for_each_line(call, loaded, tmp_path):
    (tmp_path / "begin").write_text("Das\n\nEin\n", encoding="utf-8")
    call("translate", "run", "--prefix", "Der ", stdin="a\n")
    call("translate", "run", "--prefix-file", tmp_path / "begin", stdin="a\nb\nc\n")
    assert [each.prefixes for each in loaded] == ["Der ", ["Das", "", "Ein"]]


REFUSED = {
    "a number below": (["--beam", "0"], "--beam: out of range"),
    "a number above": (["--length-penalty", "11"], "--length-penalty: out of range"),
    "no number": (["--n-best", "two"], "--n-best: not a whole number"),
    "not a whole number": (["--no-repeat-ngram", "2.5"], "--no-repeat-ngram: not a whole number"),
    "more than the beam": (
        ["--beam", "2", "--n-best", "3"],
        "n_best: the number of candidates is out of range",
    ),
    "a beam that draws": (["--beam", "2", "--sample"], "--beam: beam search"),
    "drawing without --sample": (["--top-k", "2", "--seed", "0"], "--top-k, --seed: only applies"),
    "two prefixes": (["--prefix", "a", "--prefix-file", "b"], "--prefix: already given"),
    "a file that is not there": (["--prefix-file", "gone.txt"], "--prefix-file gone.txt: no such file"),
}


@pytest.mark.parametrize(("options", "words"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_is_refused_before_a_model_is_loaded(call, loaded, options, words):
    assert has_four_parts(refused(call("translate", "run", *options, stdin="a\n"), words))
    assert loaded == []


def test_a_missing_input_is_said_before_the_model_is_loaded(call, loaded, tmp_path):
    result = call("translate", "run", "--input", tmp_path / "in")
    assert (result.exit_code, loaded) == (2, [])
    assert result.stderr.startswith(f"error: --input {tmp_path / 'in'}: no such file")


def test_an_error_on_the_way_leaves_no_output_file(call, stand_in, tmp_path):
    class Strict(Upper):
        def translate_stream(self, lines, text, *, name, prefixes) -> None:
            text.write("first\n")
            raise input_error(f"{name}: line 2 is not UTF-8")

    stand_in("inference", load_translator=Strict)
    result = call("translate", "run", "--output", tmp_path / "out", stdin="a\n")
    assert (result.exit_code, os.listdir(tmp_path)) == (2, [])
    assert result.stderr == "error: stdin: line 2 is not UTF-8\n"


ENDLESS = """
import sys, types
class Endless:
    def translate_stream(self, lines, text, *, name, prefixes):
        while True:
            text.write("line\\n")
            text.flush()
module = types.ModuleType("trimtab.inference")
module.load_translator = lambda spec, **options: Endless()
sys.modules["trimtab.inference"] = module
from trimtab.cli.main import main
main()
"""


def start():
    command = [sys.executable, "-c", ENDLESS, "translate", "run"]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


@pytest.mark.slow
def test_a_reader_that_has_seen_enough_ends_it_quietly():
    with start() as process:
        assert process.stdout.readline() == b"line\n"
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=30) == 141


@pytest.mark.slow
def test_an_interrupt_ends_it_with_one_line():
    with start() as process:
        assert process.stdout.readline() == b"line\n"
        process.send_signal(signal.SIGINT)
        while process.stdout.read(1 << 16):
            pass
        assert process.stderr.read() == b"stopped: by Ctrl-C\n"
        assert process.wait(timeout=30) == 130


def test_a_text_in_the_place_of_a_run_is_answered_with_the_option_for_it(call, tmp_path):
    (tmp_path / "dev.en").write_text("the wind\n")
    message = refused(call("translate", "run", tmp_path / "dev.en"), f"--input {tmp_path / 'dev.en'}")
    assert has_four_parts(message)


@pytest.fixture
def one_by_one(stand_in):
    """A translator that says how many lines it was let read ahead, and how it was sized."""
    made = []

    class Sized(Upper):
        read_ahead = 4096
        sizes = None

        def sized(self, **sizes):
            self.sizes = sizes
            return self

        def translate_stream(self, lines, text, **more):
            super().translate_stream(iter(lambda: lines.readline(1000), b""), text, **more)

    def load_translator(spec, **options):
        made.append(Sized(spec, **options))
        return made[-1]

    stand_in("inference", load_translator=load_translator)
    return made


def test_interactive_reads_no_line_ahead_and_shows_no_prompt_in_a_pipe(call, one_by_one):
    result = call("translate", "run", "--interactive", stdin="a\nb\n")
    assert (result.stdout, result.stderr, one_by_one[0].read_ahead) == ("A\nB\n", "", 1)
    call("translate", "run", stdin="a\n")
    assert one_by_one[1].read_ahead == 4096


def test_sizes_are_handed_on(call, one_by_one):
    call("translate", "run", "--batch-tokens", 99, "--max-length", 7, stdin="a\n")
    assert one_by_one[0].sizes == {"batch_tokens": 99, "max_length": 7}
    call("translate", "run", stdin="a\n")
    assert one_by_one[1].sizes is None


def test_threads_are_set_before_the_model_is_loaded(call, one_by_one, monkeypatch):
    taken = []
    monkeypatch.setattr(module, "take_threads", lambda threads: taken.append((threads, len(one_by_one))))
    call("translate", "run", "--threads", 2, stdin="a\n")
    assert taken == [(2, 0)]


def test_a_terminal_is_asked_for_each_line(call, one_by_one, monkeypatch):
    monkeypatch.setattr(module, "is_typed", lambda source: True)
    result = call("translate", "run", stdin="a\nb\n")
    assert (result.stdout, one_by_one[0].read_ahead) == ("A\nB\n", 1)
    assert result.stderr.startswith("Type a line and the return key; Ctrl-D ends.\n")


def test_a_glossary_is_handed_on_and_its_terms_are_counted(call, loaded, tmp_path):
    (tmp_path / "terms.tsv").write_text("ship\tSchiff\n", encoding="utf-8")
    asked = {}

    def translate_stream(self, lines, text, *, glossary, **options) -> None:
        asked["entries"] = list(glossary.entries)

    Upper.counts = TranslationCounts(terms=3, missing_terms=1, lines_with_terms=2)
    Upper.translate_stream, plain = translate_stream, Upper.translate_stream
    try:
        result = call("translate", "run", "--glossary", tmp_path / "terms.tsv", stdin="a ship\n")
    finally:
        Upper.translate_stream = plain
    assert (result.exit_code, asked["entries"]) == (0, ["ship"])
    assert "2 of 3 terms kept" in result.stderr


@pytest.mark.parametrize("other", [["--sample"], ["--prefix", "Das"], ["--documents", "text"]])
def test_a_glossary_excludes_what_it_cannot_go_with(call, loaded, tmp_path, other):
    (tmp_path / "terms.tsv").write_text("ship\tSchiff\n", encoding="utf-8")
    result = call("translate", "run", "--glossary", tmp_path / "terms.tsv", *other, stdin="")
    assert has_four_parts(refused(result))
    assert "--glossary" in result.stderr


def test_what_is_wrong_with_a_glossary_is_said_with_its_line(call, loaded, tmp_path):
    (tmp_path / "terms.tsv").write_text("ship Schiff\nboat\tBoot\n", encoding="utf-8")
    result = call("translate", "run", "--glossary", tmp_path / "terms.tsv", stdin="")
    assert has_four_parts(refused(result))
    assert "terms.tsv: line 1 has no tab" in result.stderr


def test_alignments_go_to_a_file_of_their_own(call, loaded, tmp_path):
    def translate_stream(self, lines, text, *, alignments, **options) -> None:
        alignments.write("0-0\n")

    Upper.translate_stream, plain = translate_stream, Upper.translate_stream
    try:
        result = call("translate", "run", "--alignments", tmp_path / "links", stdin="a\n")
    finally:
        Upper.translate_stream = plain
    assert result.exit_code == 0
    assert (tmp_path / "links").read_text() == "0-0\n"
    assert [path.name for path in tmp_path.iterdir()] == ["links"]


def test_alignments_need_a_place_of_their_own(call, loaded, tmp_path):
    (tmp_path / "in").write_text("a\n")
    given = ["--input", tmp_path / "in", "--output", tmp_path / "out"]
    for place, words in (
        ("out", "same file as --output"),
        ("in", "same file as --input"),
        ("no/x", "cannot be written"),
    ):
        result = call("translate", "run", *given, "--alignments", tmp_path / place)
        assert has_four_parts(refused(result, f"--alignments {tmp_path / place}", words))


@pytest.mark.parametrize("other", [["--n-best", 2], ["--documents", "text"]])
def test_alignments_exclude_what_has_no_line_for_each(call, loaded, tmp_path, other):
    result = call("translate", "run", "--alignments", tmp_path / "links", *other, stdin="")
    assert has_four_parts(refused(result, "--alignments", "cannot be combined"))
    assert not (tmp_path / "links").exists()
