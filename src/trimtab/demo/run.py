"""`trimtab demo`: trains on the sample that comes with the package, translates lines it has never seen, and reports."""

import time
from contextlib import AbstractContextManager
from importlib.resources import as_file, files
from pathlib import Path

import torch

from trimtab.config.corpora import ParallelFiles
from trimtab.config.load import LoadedRecipe, load_recipe
from trimtab.data.cache import default_cache
from trimtab.data.corpus import open_corpus
from trimtab.decode.search import Search
from trimtab.demo.page import DemoReport
from trimtab.inference import LoadedModel, TextOutput, load_model
from trimtab.launch import train
from trimtab.metrics.bleu import bleu
from trimtab.metrics.chrf import chrf
from trimtab.model.text_model import build_model
from trimtab.progress import Progress
from trimtab.report.page import write_page
from trimtab.report.run_data import open_run

BEAM = 4


def run_demo(out: Path, minutes: float, *, progress: Progress, output: TextOutput) -> DemoReport:
    """Trains for so many minutes on a CPU or GPU into a new folder, and writes the report.

    Where `out` already contains a run the next free name beside it is taken: `demo-2`, `demo-3`.
    """
    started = time.perf_counter()
    folder = free_folder(out)
    with sample() as data:
        loaded = demo_recipe(data, minutes)
        result = train(loaded, out=folder, progress=progress)
        corpus = open_corpus(
            ParallelFiles(pairs=str(data / "heldout.tsv.xz"), source=1, target=2),
            root=data,
            cache=default_cache(),
        )
        pairs = [corpus.pair(line) for line in range(len(corpus))]
    sources, references = [source for source, _ in pairs], [target for _, target in pairs]
    progress.message(f"translating {len(sources)} held-out lines with a beam of {BEAM}")
    trained = load_model(f"{result.run}@last")
    translations = trained.translator(search=Search(beam=BEAM)).translate(sources)
    systems = {
        "copy the source": sources,
        "untrained model": untrained(trained).translator(search=Search(beam=1)).translate(sources),
        "trained model": translations,
    }
    report = DemoReport(
        run=result.run,
        seconds=time.perf_counter() - started,
        training_seconds=result.state.seconds,
        parameters=trained.model.num_parameters(),
        pairs=[(s, t, r) for s, t, r in zip(sources, translations, references, strict=True)],
        scores={name: (bleu(lines, references), chrf(lines, references)) for name, lines in systems.items()},
    )
    write_page([open_run(result.run)], report.page)
    output.write(report.render() + "\n")
    return report


def sample() -> AbstractContextManager[Path]:
    """The folder of the sample that comes with the package."""
    return as_file(files("trimtab.demo") / "data")


def demo_recipe(data: Path, minutes: float) -> LoadedRecipe:
    """The demo's recipe, reading the sample from where it is installed."""
    overrides = [f"data.root={data}", f"length={minutes:g} minutes"]
    with as_file(files("trimtab.demo") / "recipe.yaml") as path:
        return load_recipe(path, overrides)


def untrained(trained: LoadedModel) -> LoadedModel:
    """The same model with its first weights."""
    device = trained.model.output_matrix.device
    model = build_model(trained.recipe, trained.tokenizers, device=torch.device("cpu"))
    model.kernel = "padded"
    return LoadedModel(trained.recipe, trained.checkpoint, model.to(device).eval(), trained.tokenizers)


def free_folder(wanted: Path) -> Path:
    """The folder itself, or the first of `name-2`, `name-3`, ... that is not there yet."""
    folder, number = wanted, 1
    while folder.exists():
        number += 1
        folder = wanted.with_name(f"{wanted.name}-{number}")
    return folder
