import json
import os
import pty
import subprocess
import sys

import pytest

from tests.cli.refusal import has_four_parts, refused
from trimtab.decode.continuation import Continuation
from trimtab.decode.generation_config import USUAL, GenerationConfig
from trimtab.decode.sampling import Sampling
from trimtab.errors import input_error


class Echo:
    """Goes on from a prompt with its capitals, two characters at a time."""

    def __init__(self, spec: str, *, device, adapter, chat) -> None:
        self.spec, self.device, self.generations = spec, device, []
        self.adapter, self.chat = adapter, chat

    def whole(self, prompt: str) -> str:
        return prompt

    def check(self, prompts):
        for number, prompt in enumerate(prompts):
            if len(prompt) > 20:
                raise input_error(f"prompt {number + 1}: longer than {self.spec} can read")

    def generate(self, prompts, generation, *, first=0):
        self.generations.append(generation)
        for number, prompt in enumerate(prompts, start=first):
            if len(prompt) > 20:
                raise input_error(f"prompt {number + 1}: longer than {self.spec} can read")
            for sample in range(generation.samples):
                yield made(number, sample, prompt)

    def stream(self, prompt, generation, *, line=0):
        if len(prompt) > 20:
            raise input_error(f"prompt {line + 1}: longer than {self.spec} can read")
        self.generations.append(generation)
        return self._parts(made(line, 0, prompt))

    def _parts(self, made):
        yield from (made.text[start : start + 2] for start in range(0, len(made.text), 2))
        return made


def made(line, sample, prompt) -> Continuation:
    text = f" {prompt.upper()}\n{line}{sample} ö"
    return Continuation(line=line + 1, sample=sample + 1, prompt=prompt, text=text, num_tokens=5, stopped="end",
                        log_probability=-1.5, repeated=0.0, whole=prompt + text)  # fmt: skip


@pytest.fixture
def loaded(stand_in):
    generators = []

    def load_generator(spec, *, device, adapter, chat):
        generators.append(Echo(spec, device=device, adapter=adapter, chat=chat))
        return generators[-1]

    stand_in("inference", load_generator=load_generator)
    return generators


def test_a_prompt_is_shown_with_what_follows_its_line_ends_kept(call, loaded):
    result = call("generate", "runs/x@last", "--prompt", "a boat")
    assert (result.exit_code, result.stdout) == (0, "a boat A BOAT\n00 ö\n")
    assert result.stderr == "1 text, 5 tokens: 1 came to an end; 0% of 4-grams repeated\n"
    assert (loaded[0].spec, loaded[0].device, loaded[0].generations) == (
        "runs/x@last",
        None,
        [GenerationConfig(sampling=USUAL)],
    )


def test_several_samples_of_a_prompt_stand_apart(call, loaded):
    result = call("generate", "run", "--prompt", "a", "--samples", 2)
    assert result.stdout == "a A\n00 ö\n\na A\n01 ö\n"


def test_stop_strings_have_their_line_ends(call, loaded):
    call("generate", "run", "--prompt", "a", "--stop", r"\n\n", "--stop", "User:")
    assert loaded[0].generations == [GenerationConfig(stop=("\n\n", "User:"))]


def test_lines_give_a_line_for_each_text(call, loaded):
    result = call("generate", "run", "--samples", 2, stdin="eins\nzwei\n")
    assert result.stdout == "eins EINS 00 ö\neins EINS 01 ö\nzwei ZWEI 10 ö\nzwei ZWEI 11 ö\n"
    assert result.stderr.startswith("4 texts, 20 tokens: 4 came to an end")


def test_json_keeps_line_ends_and_says_why_a_text_ends(call, loaded):
    found = [
        json.loads(line) for line in call("generate", "run", "--json", stdin="a\nb\n").stdout.splitlines()
    ]
    assert [(each["line"], each["prompt"], each["text"], each["stopped"]) for each in found] == [
        (1, "a", " A\n00 ö", "end"),
        (2, "b", " B\n10 ö", "end"),
    ]
    (one,) = [
        json.loads(line) for line in call("generate", "run", "--json", "--prompt", "a").stdout.splitlines()
    ]
    assert one["text"] == " A\n00 ö"


def test_files_and_options(call, loaded, tmp_path):
    (tmp_path / "in").write_text("a\n")
    result = call("generate", "run", "--input", tmp_path / "in", "--output", tmp_path / "out", "--max-tokens", 9,
                  "--temperature", 1.5, "--top-p", 1, "--min-p", 0.1, "--top-k", 50, "--samples", 3, "--seed", 4,
                  "--device", "cpu")  # fmt: skip
    assert (result.exit_code, result.stdout) == (0, "")
    assert (tmp_path / "out").read_text() == "a A 00 ö\na A 01 ö\na A 02 ö\n"
    sampling = Sampling(temperature=1.5, top_p=1.0, min_p=0.1, top_k=50, seed=4)
    assert (loaded[0].device, loaded[0].generations) == (
        "cpu",
        [GenerationConfig(max_tokens=9, samples=3, sampling=sampling)],
    )


def test_a_temperature_of_zero_is_greedy(call, loaded):
    call("generate", "run", "--temperature", 0, stdin="a\n")
    assert loaded[0].generations == [GenerationConfig(sampling=None)]


REFUSED = {
    "two places for prompts": (["--prompt", "a", "--input", "b"], "--prompt: prompts come from one source"),
    "a file that is not there": (["--input", "gone.txt"], "--input gone.txt: no such file"),
    **{
        f"a temperature of {value}": (
            ["--temperature", value],
            "--temperature: out of range",
            "0, or numbers from 0.01 to 100",
        )
        for value in ("0.005", "-1", "101")
    },
    "no tokens": (["--max-tokens", "0"], "--max-tokens: out of range"),
    "a share above one": (["--min-p", "1.5"], "--min-p: out of range"),
    "samples that are anyway": (
        ["--temperature", "0", "--samples", "2"],
        "samples: greedy decoding",
    ),
    "a cut that counts for nothing": (["--temperature", "0", "--top-k", "2"], "--top-k: only applies"),
}


@pytest.mark.parametrize(
    ("options", "words"), [(case[0], case[1:]) for case in REFUSED.values()], ids=REFUSED
)
def test_what_cannot_be_is_refused_before_a_model_is_loaded(call, loaded, options, words):
    assert has_four_parts(refused(call("generate", "run", *options, stdin="a\n"), *words))
    assert loaded == []


def test_a_prompt_that_is_too_long_ends_it_after_the_texts_before(call, loaded):
    result = call("generate", "run", stdin="a\n" + "b" * 30 + "\n")
    assert (result.exit_code, result.stdout) == (2, "a A 00 ö\n")
    assert "error: prompt 2: longer than run can read" in result.stderr


@pytest.mark.parametrize("into", ["stdout", "file"])
def test_prompts_of_a_file_are_all_looked_at_before_the_first_text(call, loaded, tmp_path, into):
    (tmp_path / "in").write_text("a\n" + "b" * 30 + "\n")
    options = ["--output", tmp_path / "out"] if into == "file" else []
    result = call("generate", "run", "--input", tmp_path / "in", *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert "error: prompt 2: longer than run can read" in result.stderr
    assert [each.name for each in tmp_path.iterdir()] == ["in"]
    assert loaded[0].generations == []


def test_prompts_of_a_pipe_leave_no_part_of_an_output_file(call, loaded, tmp_path):
    result = call("generate", "run", "--output", tmp_path / "out", stdin="a\n" + "b" * 30 + "\n")
    assert result.exit_code == 2
    assert list(tmp_path.iterdir()) == []


def test_a_named_pipe_is_read_once(call, loaded, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    writer = subprocess.Popen(["sh", "-c", 'printf "a\\nb\\n" > "$0"', tmp_path / "pipe"])
    try:
        result = call("generate", "run", "--input", tmp_path / "pipe")
    finally:
        writer.kill()
        writer.wait()
    assert (result.exit_code, result.stdout) == (0, "a A 00 ö\nb B 10 ö\n")


@pytest.mark.slow
def test_in_a_terminal_prompts_are_asked_for_one_after_another():
    code = (
        "import sys, types, tests.cli.test_generate as here\n"
        "module = types.SimpleNamespace(load_generator=here.Echo)\n"
        "sys.modules['trimtab.inference'] = module\n"
        "from trimtab.cli.app import app\n"
        "app(['generate', 'run'], standalone_mode=False)\n"
    )
    above, below = pty.openpty()
    child = subprocess.Popen(
        [sys.executable, "-c", code], stdin=below, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    os.close(below)
    os.write(above, b"a\n" + b"c" * 30 + b"\nb\n\x04")
    told, asked = child.communicate(timeout=60)
    os.close(above)
    assert told == "a A\n00 ö\nb B\n20 ö\n"
    assert asked.count("> ") == 4
    assert "prompt 2: longer than run can read" in asked
    assert "2 texts" in asked


def test_sizes_are_handed_on(call, stand_in):
    made = []

    class Sized(Echo):
        def sized(self, **sizes):
            made.append(sizes)
            return self

    stand_in("inference", load_generator=Sized)
    call("generate", "run", "--prompt", "a", "--batch-tokens", 99, "--max-length", 7)
    assert made == [{"batch_tokens": 99, "max_length": 7}]


def test_an_adapter_is_used_with_the_model(call, loaded):
    assert call("generate", "base", "--adapter", "lora", "--chat", "--prompt", "a").exit_code == 0
    assert (loaded[0].adapter, loaded[0].chat) == ("lora", True)
