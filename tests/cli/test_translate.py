import os
import signal
import subprocess
import sys

import pytest

from trimtab.errors import input_error


class Upper:
    """Translates into capitals."""

    def __init__(self, spec: str, **options) -> None:
        self.spec, self.options = spec, options

    def translate_stream(self, lines, text, *, name) -> None:
        for line in lines:
            text.write(line.decode().upper())
        text.flush()


@pytest.fixture
def loaded(stand_in):
    translators = []

    def load_translator(spec, **options):
        translators.append(Upper(spec, **options))
        return translators[-1]

    stand_in("translator", load_translator=load_translator)
    return translators


def test_stdin_goes_to_stdout(call, loaded):
    result = call("translate", "runs/x@last", stdin="eins\nzwei ö\n")
    assert (result.exit_code, result.stdout) == (0, "EINS\nZWEI Ö\n")
    assert loaded[0].spec == "runs/x@last"
    assert loaded[0].options == {
        "beam": 4, "length_penalty": 1.0, "device": None, "tags": (),
    }  # fmt: skip


def test_files_and_options(call, loaded, tmp_path):
    (tmp_path / "in").write_text("a\n")
    result = call("translate", "run", "--input", tmp_path / "in", "--output", tmp_path / "out", "--beam", 1,
                  "--length-penalty", 0.6, "--device", "cpu", "--tag", "<a>", "--tag", "<b>")  # fmt: skip
    assert (result.exit_code, result.stdout) == (0, "")
    assert (tmp_path / "out").read_text() == "A\n"
    assert loaded[0].options == {
        "beam": 1,
        "length_penalty": 0.6,
        "device": "cpu",
        "tags": ["<a>", "<b>"],
    }


def test_a_missing_input_is_said_before_the_model_is_loaded(call, loaded, tmp_path):
    result = call("translate", "run", "--input", tmp_path / "in")
    assert (result.exit_code, loaded) == (2, [])
    assert result.stderr.startswith(f"error: --input {tmp_path / 'in'}: no such file")


def test_an_error_on_the_way_leaves_no_output_file(call, stand_in, tmp_path):
    class Strict(Upper):
        def translate_stream(self, lines, text, *, name) -> None:
            text.write("first\n")
            raise input_error(f"{name}: line 2 is not UTF-8")

    stand_in("translator", load_translator=Strict)
    result = call("translate", "run", "--output", tmp_path / "out", stdin="a\n")
    assert (result.exit_code, os.listdir(tmp_path)) == (2, [])
    assert result.stderr == "error: stdin: line 2 is not UTF-8\n"


ENDLESS = """
import sys, types
class Endless:
    def translate_stream(self, lines, text, *, name):
        while True:
            text.write("line\\n")
            text.flush()
module = types.ModuleType("trimtab.translator")
module.load_translator = lambda spec, **options: Endless()
sys.modules["trimtab.translator"] = module
from trimtab.cli.main import main
main()
"""


def start():
    command = [sys.executable, "-c", ENDLESS, "translate", "run"]
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def test_a_reader_that_has_seen_enough_ends_it_quietly():
    with start() as process:
        assert process.stdout.readline() == b"line\n"
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(timeout=30) == 141


def test_an_interrupt_ends_it_quietly():
    with start() as process:
        assert process.stdout.readline() == b"line\n"
        process.send_signal(signal.SIGINT)
        while process.stdout.read(1 << 16):
            pass
        assert process.stderr.read() == b""
        assert process.wait(timeout=30) == 130
