"""What `trimtab fit` does, and a way to it past typer, whose import would take a third of the time of a plan."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from trimtab.cli.shell import outcome
from trimtab.errors import input_error
from trimtab.host_memory import host_memory

if TYPE_CHECKING:
    from trimtab.fit.report import Answer

WITH_VALUE = ("--gpu", "--memory", "--ranks", "--ram", "--model", "--solve")
MOST_RANKS = 65536


@dataclass(slots=True)
class FitRequest:
    """The arguments of the command."""

    recipe: Path
    overrides: list[str] = field(default_factory=list[str])
    gpu: str | None = None
    memory: str | None = None
    ranks: str | None = None
    ram: str | None = None
    model: Path | None = None
    solve: str | None = None
    probe: bool = False
    as_json: bool = False


def run_plain_fit(arguments: Sequence[str]) -> int | None:
    """The exit code of a command that is written plainly; None, before anything is done, for help, for usage errors and
    for what only typer reads, which are then its business."""
    request = parsed(arguments)
    return None if request is None else outcome(lambda: run_fit(request))


def parsed(arguments: Sequence[str]) -> FitRequest | None:
    """The request, where every word is a recipe, an override, or an option that is known and given once."""
    words, options = list[str](), dict[str, str]()
    as_json, left = False, iter(arguments)
    for word in left:
        if not word.startswith("-"):
            words.append(word)
            continue
        name, joined, value = word.partition("=")
        if word == "--json":
            as_json = True
        elif name in WITH_VALUE and name not in options:
            given = value if joined else next(left, "-")
            if given.startswith("-"):
                return None
            options[name] = given
        else:
            return None
    if not words or "=" in words[0] or not all("=" in word for word in words[1:]):
        return None
    model = options.get("--model")
    return FitRequest(
        recipe=Path(words[0]),
        overrides=words[1:],
        gpu=options.get("--gpu"),
        memory=options.get("--memory"),
        ranks=options.get("--ranks"),
        ram=options.get("--ram"),
        model=None if model is None else Path(model),
        solve=options.get("--solve"),
        as_json=as_json,
    )


def run_fit(request: FitRequest) -> int:
    """Prints the plan; 1 where the recipe does not fit."""
    from trimtab.fit import ask

    gpus, host = ask.choose_gpus(request.gpu, request.memory), ask.given_memory(request.ram)
    size = ask.parse_size(request.solve)
    ranks = parse_ranks(request)
    refuse_beside(request)
    subject = ask.open_subject(request.recipe, request.overrides, model=request.model)
    if request.probe:
        from trimtab.probing import probe

        sys.stdout.write(probe(request.recipe, request.overrides, as_json=request.as_json))
        return 0
    if len(gpus) > 1:
        answers = ask.answers_on_all(subject, ram=host, ranks=ranks)
        _tell_all(answers, as_json=request.as_json)
        return int(not any(each.fits for each in answers))
    is_here = request.gpu is None and request.memory is None
    given = host if host is not None or not is_here else host_memory().total
    answer = ask.answer_on(subject, gpus[0], ram=given, size=size, ranks=ranks)
    _tell(answer, as_json=request.as_json)
    return int(not (answer.fits or size is not None))


def refuse_beside(request: FitRequest) -> None:
    """Raises InputError for options that exclude each other."""
    if request.solve is not None and request.gpu is not None and request.gpu.lower() == "all":
        raise input_error(
            "--solve: needs one GPU, not a list",
            got=f"--solve {request.solve} with --gpu {request.gpu}",
            allowed="one GPU or an amount of memory",
            fix=f"name the GPU: `--gpu rtx-4090 --solve {request.solve}`",
        )
    others = {
        "--gpu": request.gpu,
        "--memory": request.memory,
        "--ram": request.ram,
        "--model": request.model,
    }
    named = [name for name, value in (*others.items(), ("--solve", request.solve)) if value is not None]
    if request.probe and named:
        raise input_error(
            "--probe: measures the recipe as it is on the GPU of this machine",
            got=f"--probe with {', '.join(named)}",
            allowed="--probe with KEY=VALUE and --json only",
            fix="leave --probe out to plan without a measurement",
        )


def parse_ranks(request: FitRequest) -> int:
    """The number of processes that train together. Raises InputError for other text, or together with `--probe`."""
    text = "1" if request.ranks is None else request.ranks.strip()
    if not (text.isascii() and text.isdecimal() and 1 <= int(text[:9]) <= MOST_RANKS and len(text) < 9):
        raise input_error(
            "--ranks: not a number of processes",
            got=repr(text[:60]),
            allowed=f"1 to {MOST_RANKS:,}",
            fix="pass the number of GPUs that train together: `--ranks 2`",
        )
    if request.probe and int(text) > 1:
        raise input_error(
            "--probe: trains on one GPU",
            got=f"--probe with --ranks {text}",
            allowed="one of them",
            fix="leave --probe out",
        )
    return int(text)


def _tell(answer: "Answer", *, as_json: bool) -> None:
    from trimtab.fit.report import as_text, as_values

    sys.stdout.write(json.dumps(as_values(answer), indent=2) + "\n" if as_json else as_text(answer))


def _tell_all(answers: "list[Answer]", *, as_json: bool) -> None:
    from trimtab.fit.report import as_values, text_of_all

    values = [as_values(each) for each in answers] if as_json else []
    sys.stdout.write(json.dumps(values, indent=2) + "\n" if as_json else text_of_all(answers))
