"""From what was typed to plans: a recipe or a model's settings, and the GPU that it has to fit on."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from trimtab.config.load import LoadedRecipe, load_recipe, parse_recipe
from trimtab.config.parallel import check_processes
from trimtab.config.pretrained.place import CONFIG
from trimtab.config.pretrained.shapes import read_settings
from trimtab.config.run import Recipe
from trimtab.config.task_facts import facts_of
from trimtab.config.task_record import Task
from trimtab.errors import InputError, input_error
from trimtab.fit.climb import Situation, cheapest_climb, smallest_plan
from trimtab.fit.families import family_shape
from trimtab.fit.gpus import ALL, GPUS, Gpu, find_gpu, local_gpu, of_memory
from trimtab.fit.memory_size import GIB, parse_memory, usable
from trimtab.fit.native import native_shape
from trimtab.fit.report import Answer
from trimtab.fit.shape import Shape
from trimtab.fit.solve import SIZES, Size, solve
from trimtab.fit.speed import speed_of
from trimtab.fit.vocabulary import vocabulary_of
from trimtab.host_memory import host_memory


@dataclass(frozen=True, slots=True)
class Subject:
    """What is planned."""

    name: str
    recipe: Recipe
    folder: Path
    stand_in: Shape | None = None
    """The shape of a model of Hugging Face in the place of the recipe's own."""
    notes: tuple[str, ...] = ()

    def shape_of(self, recipe: Recipe) -> Shape:
        """That of the recipe, which may be changed, or of the model that replaces its own."""
        if self.stand_in is not None:
            return self.stand_in
        return native_shape(recipe, vocabulary_of(recipe, self.folder))

    def on(self, gpu: Gpu, *, ram: int | None = None, ranks: int = 1) -> Situation:
        """The subject on a card, in a host with so much memory, or on as many cards as there are processes."""
        return Situation(self.recipe, self.folder, gpu, self.shape_of, ram, ranks)


def open_subject(path: Path, overrides: Sequence[str] = (), *, model: Path | None = None) -> Subject:
    """A recipe; or `config.json` of Hugging Face, or its folder, with usual settings for everything else. `model` is
    such a file that replaces the model of the recipe. InputError for what is neither."""
    if path.is_dir() or path.suffix == ".json":
        if model is not None:
            raise input_error(
                "--model: replaces the model of a recipe",
                got=f"--model beside {path}",
                allowed="a recipe with --model, or a model alone",
                fix="leave --model out",
            )
        return _of_model(path, overrides)
    loaded = load_recipe(path, overrides)
    subject = Subject(path.name, loaded.recipe, loaded.folder)
    return subject if model is None else _with_model(subject, loaded, model)


def _config_file(path: Path) -> Path:
    if path.is_dir():
        if not (path / CONFIG).is_file():
            names = sorted(each.name for each in path.iterdir())[:5]
            raise input_error(
                f"{path}: has no {CONFIG}",
                got=", ".join(names) or "an empty folder",
                allowed=f"a recipe, a {CONFIG} of Hugging Face, or a folder with one",
                fix=f"name the recipe, or the folder that {CONFIG} is in",
            )
        return path / CONFIG
    return path


def _of_model(path: Path, overrides: Sequence[str]) -> Subject:
    file = _config_file(path)
    shape, task = family_shape(read_settings(file), name=str(file))
    import json

    loaded = parse_recipe(json.dumps(USUAL[task]), path=Path(CONFIG), overrides=tuple(overrides))
    step = loaded.recipe.step
    targets, longest = loaded.recipe.facts.targets, loaded.recipe.data.max_tokens
    note = (
        f"planned as a full training run with micro-batches of {step.micro_batch_tokens:,} {targets} and texts of "
        f"at most {longest:,} tokens; change these by KEY=VALUE."
    )
    return Subject(path.name, loaded.recipe, Path(), shape, (note, AS_OWN))


AS_OWN = "Weights are counted as in transformers, activations as in trimtab's own layers of the same sizes."


def _with_model(subject: Subject, loaded: LoadedRecipe, model: Path) -> Subject:
    file = _config_file(model)
    shape, _ = family_shape(read_settings(file), name=str(file))
    if loaded.recipe.adapter is not None:
        raise input_error(
            "--model: a recipe with an adapter names its own model",
            got=f"--model {model} with adapter",
            allowed="a recipe without an adapter",
            fix="set model.path in the recipe",
        )
    return Subject(f"{subject.name} with {model}", subject.recipe, subject.folder, shape, (AS_OWN,))


def _usual(task: Task, data: Mapping[str, Any], kind: str) -> dict[str, Any]:
    tokens = {} if facts_of(task).one_target else {"tokens_per_step": 8192, "tokens_per_micro_batch": 8192}
    return {
        "task": task,
        "data": data,
        "model": {"kind": kind, "preset": "tiny"},
        "step": {**tokens, "compile": "on"},
        "length": "1 epochs",
    }


_PAIRS = {"source": "train.source", "target": "train.target"}
USUAL: Mapping[str, dict[str, Any]] = {
    "language_model": _usual(
        "language_model",
        {"train": [{"text": "train.txt"}], "valid": {"text": "valid.txt"}, "max_tokens": 2048},
        "decoder",
    ),
    "translation": _usual(
        "translation", {"train": [_PAIRS], "valid": _PAIRS, "max_tokens": 256}, "encoder_decoder"
    ),
    "classification": _usual(
        "classification", {"train": [_PAIRS], "valid": _PAIRS, "max_tokens": 512}, "encoder"
    ),
}
"""The recipe around a model that comes alone; its own model is a placeholder."""


def choose_gpus(gpu: str | None, memory: str | None) -> list[Gpu]:
    """The card that is asked for, or all of the table, or that of this machine. InputError where there is none."""
    if gpu is not None and memory is not None:
        raise input_error(
            "--gpu and --memory: both say how much memory there is",
            got=f"--gpu {gpu} --memory {memory}",
            allowed="one of them",
            fix="leave --memory out",
        )
    if memory is not None:
        return [of_memory(usable(memory, option="--memory"))]
    if gpu is not None and gpu.lower() == ALL:
        return sorted(GPUS, key=lambda each: each.memory)
    if gpu is not None:
        return [find_gpu(gpu)]
    found = local_gpu()
    if found is None:
        raise input_error(
            "this machine has no GPU that `nvidia-smi` knows",
            got="neither --gpu nor --memory",
            allowed="--gpu NAME, --gpu all or --memory 24GB",
            fix="name the GPU that you mean: `--gpu rtx-4090`",
        )
    return [found]


def given_memory(ram: str | None) -> int | None:
    """Bytes of host memory that are given."""
    return None if ram is None else parse_memory(ram, option="--ram")


def notes_of(subject: Subject, ranks: int) -> tuple[str, ...]:
    """Notes on a plan for `ranks` processes."""
    if ranks > 1:
        told = (
            f"The plan is for each of {ranks} processes, with one GPU per process; the speed is their total, without "
            "communication."
        )
    elif subject.recipe.parallel.kind == "fsdp":
        told = "`parallel: {kind: fsdp}` shards across several processes; pass their number, such as `--ranks 2`."
    else:
        return subject.notes
    if subject.recipe.parallel.kind == "by_direction":
        return (*subject.notes, told, OF_ALL_COMPONENTS)
    return (*subject.notes, told)


OF_ALL_COMPONENTS = (
    "With `parallel: {kind: by_direction}` a process has gradients and moments of its own components only. The plan "
    "counts those of all components, so it is an upper bound of them, and it assumes equal shares of the step."
)


def answer_on(
    subject: Subject, gpu: Gpu, *, ram: int | None = None, size: Size | None = None, ranks: int = 1
) -> Answer:
    """The plan on a card, for each of so many processes, and, where it does not fit, what to change."""
    check_processes(subject.recipe, ranks, option="--ranks", fewer="pass `--ranks {}`")
    situation = subject.on(gpu, ram=ram, ranks=ranks)
    plan, notes = situation.planned(subject.recipe), notes_of(subject, ranks)
    make = partial(Answer, subject.name, gpu, plan, speed_of(plan, gpu), ram, notes=notes)
    if size is not None:
        if size == "dim" and subject.stand_in is not None:
            raise input_error(
                "--solve dim: the sizes of this model are given",
                got=subject.name,
                allowed="batch or length",
                fix="`--solve batch`",
            )
        return make(solved=solve(situation, size))
    answer = make()
    if plan.peak <= gpu.memory:
        return answer
    climb = cheapest_climb(situation)
    return make(climb=climb, smallest=None if climb else smallest_plan(situation))


def answers_on_all(subject: Subject, *, ram: int | None = None, ranks: int = 1) -> list[Answer]:
    """The plan on each card of the table, smallest first; changes are looked for only where the next larger ones are
    needed no more."""
    check_processes(subject.recipe, ranks, option="--ranks", fewer="pass `--ranks {}`")
    found: list[Answer] = []
    for gpu in sorted(GPUS, key=lambda each: (each.memory, each.teraflops)):
        situation = subject.on(gpu, ram=ram, ranks=ranks)
        plan = situation.planned(subject.recipe)
        climb = None if plan.peak <= gpu.memory else cheapest_climb(situation)
        found.append(
            Answer(
                subject.name,
                gpu,
                plan,
                speed_of(plan, gpu),
                ram,
                climb=climb,
                notes=notes_of(subject, ranks),
            )
        )
    return found


def parse_size(text: str | None) -> Size | None:
    """What `--solve` names; InputError for anything else."""
    if text is None or text in SIZES:
        return text  # type: ignore[return-value]
    raise input_error("--solve: unknown", got=text[:60], allowed=", ".join(SIZES), fix="`--solve batch`")


def changes_after_running_out(recipe: Recipe, gpu: Gpu, *, ranks: int = 1) -> str:
    """What to change in a resolved recipe that has run out of memory on a GPU, as `KEY=VALUE ...`; empty where nothing
    is known to help, and where no plan can be made.

    Where the plan says that the recipe fits, it needs more than was planned: then the changes are such as save a tenth.
    """
    try:
        subject = Subject("", recipe, Path())
        peak = subject.on(gpu, ranks=ranks).planned(recipe).peak
        smaller = replace(gpu, memory_gib=min(gpu.memory_gib, 0.9 * peak / GIB))
        climb = cheapest_climb(subject.on(smaller, ram=host_memory().total, ranks=ranks))
    except InputError:
        return ""
    return "" if climb is None else climb.command_line
