"""`trimtab generate`: text that continues from prompts."""

import json
import sys
from collections.abc import Generator as Yields
from collections.abc import Iterable
from io import TextIOBase
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from trimtab.cli.arguments import (
    Adapter,
    BatchTokens,
    Device,
    MaxLength,
    Model,
    Output,
    Threads,
    sized,
    take_threads,
)
from trimtab.cli.generate_options import MinP, Temperature, TopP, choice_of
from trimtab.cli.numbers import Range, number_option
from trimtab.cli.output_place import check_output
from trimtab.cli.random_options import Seed, TopK
from trimtab.cli.streams import opened_input, opened_output
from trimtab.errors import InputError, input_error

if TYPE_CHECKING:
    from trimtab.decode.continuation import Continuation
    from trimtab.decode.generation_config import GenerationConfig
    from trimtab.decode.tally import Tally
    from trimtab.inference import Generator

MaxTokens = Annotated[
    int,
    number_option(
        "--max-tokens",
        Range(least=1, most=1_000_000),
        help="Maximum number of tokens after a prompt; a text also ends at the end symbol or at the model's limit.",
        fix="256 is usual",
    ),
]
StopAt = Annotated[
    list[str] | None,
    typer.Option(
        "--stop",
        metavar="TEXT",
        help=r"A text ends before this; again for a second one. \n is a line end, \t a tab.",
        show_default=False,
    ),
]
Samples = Annotated[
    int,
    number_option(
        "--samples", Range(least=1, most=64), help="Samples for each prompt.", fix="ask for at most 64"
    ),
]

Prompt = Annotated[str | None, typer.Option(metavar="TEXT", help="Beginning of the text; '' for none.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object per text, with its line breaks.")]
Chat = Annotated[
    bool, typer.Option("--chat", help="Prompts are questions, written out by the model's chat template.")
]


def generate(
    run: Model,
    prompt: Prompt = None,
    source: Annotated[
        Path | None, typer.Option("--input", metavar="FILE", help="Prompts, one per line; by default stdin.")
    ] = None,
    output: Output = None,
    as_json: AsJson = False,
    max_tokens: MaxTokens = 256,
    stop: StopAt = None,
    temperature: Temperature = None,
    top_p: TopP = None,
    min_p: MinP = None,
    top_k: TopK = None,
    samples: Samples = 1,
    seed: Seed = None,
    device: Device = None,
    threads: Threads = None,
    batch_tokens: BatchTokens = None,
    max_length: MaxLength = None,
    adapter: Adapter = None,
    chat: Chat = False,
) -> None:
    """Continue a prompt with a language model.

    With --prompt the text is shown as it is generated. Prompts from a file or a pipe give one text per line, prompt
    included. In a terminal without either, trimtab asks for prompts.
    """
    _check_source(prompt, source)
    sampling = choice_of(temperature=temperature, top_p=top_p, min_p=min_p, top_k=top_k, seed=seed)
    check_output(output, inputs={"--input": source} if prompt is None else {}, models=[run])
    with opened_input(source) as lines:
        from trimtab.decode.generation_config import GenerationConfig
        from trimtab.decode.reading import read_lines
        from trimtab.decode.tally import Tally
        from trimtab.inference import load_generator

        take_threads(threads)
        ends = _unescaped(stop or [])
        generation = GenerationConfig(max_tokens=max_tokens, samples=samples, sampling=sampling, stop=ends)
        generator = sized(
            load_generator(run, device=device, adapter=adapter, chat=chat),
            batch_tokens=batch_tokens,
            max_length=max_length,
        )
        tally = Tally()
        if source is not None and source.is_file():  # a pipe cannot be read twice
            with opened_input(source) as same:
                generator.check(read_lines(same, name=str(source)))
        with opened_output(output) as text:
            shown = _Shown(text, as_json=as_json, tally=tally)
            if prompt is not None:
                shown.prompt(generator, prompt, generation)
            elif source is None and sys.stdin.isatty():
                _ask(shown, generator, generation, read_lines(lines, name="stdin"))
            else:
                read = read_lines(lines, name="stdin" if source is None else str(source))
                shown.lines(generator.generate(read, generation))
        print(tally.render(), file=sys.stderr)


def _check_source(prompt: str | None, source: Path | None) -> None:
    if prompt is not None and source is not None:
        raise input_error(
            "--prompt: prompts come from one source",
            got="--prompt and --input",
            allowed="one of them",
            fix="leave one out",
        )


def _unescaped(stops: list[str]) -> tuple[str, ...]:
    """Strings of the command line with their line ends and tabs."""
    return tuple(each.replace("\\n", "\n").replace("\\t", "\t") for each in stops)


def _ask(
    shown: "_Shown", generator: "Generator", generation: "GenerationConfig", typed: Iterable[str]
) -> None:
    """A prompt after another, until the end of the input."""
    print("Type a prompt and the return key; Ctrl-D ends.", file=sys.stderr)
    print("> ", end="", file=sys.stderr, flush=True)
    for number, prompt in enumerate(typed):
        try:
            shown.prompt(generator, prompt, generation, line=number)
        except InputError as error:
            print(error, file=sys.stderr)
        print("> ", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)


class _Shown:
    """Where the texts go, and the counts of them."""

    def __init__(self, output: TextIO | TextIOBase, *, as_json: bool, tally: "Tally") -> None:
        self.output, self.as_json, self.tally = output, as_json, tally

    def prompt(
        self, generator: "Generator", prompt: str, generation: "GenerationConfig", *, line: int = 0
    ) -> None:
        """One text as it is written, or several one below another; line ends in them are kept."""
        if generation.samples == 1 and not self.as_json:
            parts = generator.stream(prompt, generation, line=line)
            self._write(generator.whole(prompt))
            self.tally.add(self._streamed(parts))
            self._write("\n")
            return
        for text in generator.generate([prompt], generation, first=line):
            self.tally.add(text)
            between = "\n" if text.sample < generation.samples else ""
            self._write(self._object(text) if self.as_json else f"{text.whole}\n{between}")

    def lines(self, texts: Iterable["Continuation"]) -> None:
        """A line for each text."""
        from trimtab.decode.block import LINE_BREAKS

        for text in texts:
            self.tally.add(text)
            self._write(self._object(text) if self.as_json else LINE_BREAKS.sub(" ", text.whole) + "\n")

    def _streamed(self, parts: "Yields[str, None, Continuation]") -> "Continuation":
        while True:
            try:
                self._write(next(parts))
            except StopIteration as end:
                return end.value

    def _object(self, text: "Continuation") -> str:
        return json.dumps(text.to_dict(), ensure_ascii=False) + "\n"

    def _write(self, text: str) -> None:
        self.output.write(text)
        self.output.flush()
