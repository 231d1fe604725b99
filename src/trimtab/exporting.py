"""`trimtab export`: a run in the form of another library, proven on real text."""

from collections.abc import Sequence
from pathlib import Path

from trimtab.checkpoint.resolve import resolve_checkpoint
from trimtab.checkpoint.run_folder import RunFolder
from trimtab.config.given_path import RUN, path_text
from trimtab.config.load import load_recipe
from trimtab.export.quantized import Quantized, quantized_by
from trimtab.export.targets import build_target
from trimtab.export.write_export import GivenText
from trimtab.tasks.task import Exported
from trimtab.tasks.task_of import task_of


def export_model(
    run: Path | str,
    *,
    to: str = "hf",
    out: Path | str,
    source: Path | str | None = None,
    reference: Path | str | None = None,
    tags: Sequence[str] = (),
    quantized: Quantized | str | None = None,
) -> Exported:
    """Writes `RUN`, `RUN@last` or `RUN@500` in the form of another library and proves it on 200 real lines.

    The lines are those of the run's validation sets, or of its corpora where it has none, or `source` and `reference`
    with `tags`. `out` appears when the export has passed: log-probabilities of every token within 1e-4 in float32, and
    the same translations by beam search with 4 hypotheses, but for ties. With rounded weights (`quantized`, a kind such
    as `"int8"` or a `Quantized` with the loss that is allowed) the translations must be within that loss.

    A language model is compared on 200 texts, of which `source` may name the file: by all logits, and by what both
    write greedily after the first half of a text.

    A classifier with a pretrained encoder is compared by the probabilities of its labels, a recognizer by what it reads
    in images of its sets, a detector by its scores and boxes.

    Raises InputError with every key of the recipe that prevents the export, before anything is written; RunFailed, with
    what differs, where the export does not pass, and then there is no folder.
    """
    quantized = quantized_by(quantized)
    target = build_target(to, quantized.kind)
    place = resolve_checkpoint(path_text(run, name="run", allowed=RUN)).run
    task = task_of(load_recipe(RunFolder(place).recipe).recipe)
    given = GivenText(source=source, reference=reference, tags=tuple(tags))
    return task.export(run, target, Path(out), given=given, quantized=quantized)
