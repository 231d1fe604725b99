"""`trimtab export`: refuse by name, write a draft, compare it with the trainer, and only then show it."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, assert_never

from trimtab.config.corpora import ParallelFiles
from trimtab.errors import InputError, RunFailed, input_error
from trimtab.export.card import model_card
from trimtab.export.ctranslate2 import KINDS, CTranslate2
from trimtab.export.draft import check_place, draft_folder
from trimtab.export.gate import GateReport, compare
from trimtab.export.hf import HuggingFace
from trimtab.export.language_model import TextExportReport, export_language_model
from trimtab.export.lines import gate_lines, origins
from trimtab.export.marks import write_card, write_recipe
from trimtab.export.onnx import KINDS as ONNX_KINDS
from trimtab.export.onnx import Onnx
from trimtab.export.quantized import EXACT, Quantized, check_kind, quantized_by
from trimtab.export.target import Target
from trimtab.translator import LoadedModel, load_model

TargetName = Literal["hf", "ctranslate2", "onnx"]
TARGETS: tuple[TargetName, ...] = ("hf", "ctranslate2", "onnx")
WEIGHTS_OF: dict[TargetName, tuple[str, ...]] = {
    "hf": (EXACT,),
    "ctranslate2": KINDS,
    "onnx": ONNX_KINDS,
}
"""Kinds of weights that `--quantization` may ask for; float32 is exact."""
README = "README.md"
GATE_FILE = "gate.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportReport:
    """What was exported, and how it was proven."""

    folder: Path
    target: str
    step: int
    gate: GateReport

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "folder": str(self.folder),
            "target": self.target,
            "step": self.step,
            "gate": self.gate.to_dict(),
        }

    def render(self) -> str:
        """Lines for people."""
        how = "as exact as the trainer" if self.gate.loss is None else "rounded, and within the stated loss"
        return f"{self.folder}: step {self.step} for {self.target}, {how}\n{self.gate.render()}"


def export_model(
    run: str,
    *,
    to: str = "hf",
    out: Path | str,
    source: Path | str | None = None,
    reference: Path | str | None = None,
    tags: Sequence[str] = (),
    quantized: Quantized | str | None = None,
) -> ExportReport | TextExportReport:
    """Writes `RUN`, `RUN@last` or `RUN@500` in the form of another library and proves it on 200 real lines.

    The lines are those of the run's validation sets, or of its corpora where it has none, or `source` and `reference`
    with `tags`. `out` appears when the export has passed: log-probabilities of every token within 1e-4 in float32, and
    the same translations by beam search with 4 hypotheses, but for ties. With rounded weights (`quantized`, a kind such
    as `"int8"` or a `Quantized` with the loss that is allowed) the translations must be within that loss.

    A language model is compared on 200 texts, of which `source` may name the file; see `export_language_model`.

    Raises InputError with every key of the recipe that stands in the way, before anything is written; RunFailed, with
    what differs, where the export does not pass, and then there is no folder.
    """
    quantized = quantized_by(quantized)
    target, place = build_target(to, quantized.kind), Path(out)
    model = load_model(run, device="cpu")
    if model.recipe.is_language_model and target.name == "hf":
        two_sided = reference is not None or bool(tags)
        return export_language_model(model, out=place, text=source, two_sided=two_sided)
    given = _given(source, reference, tags)
    check_place(place, run=Path(model.checkpoint.run))
    if problems := target.check(model.recipe, model.tokenizers):
        raise InputError(*problems)
    lines = gate_lines(model, given)
    with draft_folder(place) as draft:
        target.write(model, draft)
        write_recipe(model, draft)
        report = ExportReport(
            folder=place,
            target=target.name,
            step=model.checkpoint.step,
            gate=compare(model, target.open(draft), lines, quantized),
        )
        if not report.gate.passed:
            raise _failed(report)
        _write_proof(report, model, target, draft, origins=origins(lines))
        write_card(model, draft, target=target.name, name=place.name, weights=target.weights)
    return report


def build_target(name: str, quantization: str = EXACT) -> Target:
    """The target of a name; InputError where there is none, or none with such weights."""
    if name not in TARGETS:
        raise input_error(
            f"--to {name}: not known",
            got=name,
            allowed=" or ".join(TARGETS),
            fix=f"say --to {TARGETS[0]}",
        )
    check_kind(quantization, target=name, kinds=WEIGHTS_OF[name])
    match name:
        case "hf":
            return HuggingFace()
        case "ctranslate2":
            return CTranslate2(quantization)
        case "onnx":
            return Onnx(quantization)
        case _:
            assert_never(name)


def _given(
    source: Path | str | None, reference: Path | str | None, tags: Sequence[str]
) -> ParallelFiles | None:
    if source is None and reference is None and not tags:
        return None
    if source is None or reference is None:
        raise input_error(
            "export: text to compare on needs both sides",
            got=f"no {'--source' if source is None else '--reference'}",
            allowed="--source FILE --reference FILE, or neither of them and no tags",
            fix="name both, or none for the run's own validation sets",
        )
    return ParallelFiles(source=str(source), target=str(reference), tags=tuple(tags))


def _failed(report: ExportReport) -> RunFailed:
    evidence = "\n".join(f"  got     {line}" for line in report.gate.render().splitlines())
    fix = "report this with the recipe and the versions of trimtab and the library: it is a defect"
    if report.gate.loss is not None and not report.gate.loss.is_within:
        fix = (
            "keep more bits by another --quantization, or allow more by --loss if the references lose little"
        )
    return RunFailed(
        f"the export of step {report.step} for {report.target} differs from the trainer; nothing was written\n"
        f"{evidence}\n"
        f"  fix     {fix}"
    )


def _write_proof(
    report: ExportReport, model: LoadedModel, target: Target, draft: Path, *, origins: str
) -> None:
    proof = json.dumps(report.gate.to_dict(), ensure_ascii=False, indent=2, allow_nan=False) + "\n"
    (draft / "trimtab" / GATE_FILE).write_text(proof, encoding="utf-8")
    card = model_card(model, target=target, gate=report.gate, name=report.folder.name, origins=origins)
    (draft / README).write_text(card, encoding="utf-8")
