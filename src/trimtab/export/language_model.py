"""`trimtab export` of a language model: refuse by name, write a draft, compare it with the trainer, then show it."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trimtab.data.exact_text import ExactText
from trimtab.errors import InputError, RunFailed, input_error
from trimtab.export import llama
from trimtab.export.draft import check_place, draft_folder
from trimtab.export.hf_weights import WEIGHTS
from trimtab.export.marks import write_card, write_recipe
from trimtab.export.text_card import text_card
from trimtab.export.text_gate import TextGateReport, compare_texts
from trimtab.export.text_lines import gate_texts
from trimtab.model.decoder_only import DecoderOnly
from trimtab.translator import LoadedModel

README = "README.md"
GATE_FILE = Path("trimtab") / "gate.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class TextExportReport:
    """What was exported, and how it was proven."""

    folder: Path
    step: int
    gate: TextGateReport
    target: str = "hf"

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
        how = "as exact as the trainer"
        return f"{self.folder}: step {self.step} for {self.target}, {how}\n{self.gate.render()}"


def export_language_model(
    model: LoadedModel,
    *,
    out: Path,
    text: Path | str | None = None,
    two_sided: bool = False,
) -> TextExportReport:
    """Writes a language model in the form of Llama or Qwen3 and proves it on 200 real texts.

    The texts are those of the run's validation sets, then of its corpora, or of the file `text`. Raises InputError with
    every key of the recipe that stands in the way, before anything is written; RunFailed, with what differs, where
    logits, greedy texts or ids do not pass, and then there is no folder. `two_sided` says that references or tags were
    given, which a text does not have.
    """
    if two_sided:
        raise input_error(
            "export: a language model is compared on text alone",
            got="a reference or tags",
            allowed="--source FILE, or none for the run's own validation sets",
            fix="leave --reference and --tag out",
        )
    check_place(out, run=Path(model.checkpoint.run))
    if problems := llama.check(model.recipe, model.tokenizers):
        raise InputError(*problems)
    network, tokenizer = model.model, ExactText(model.tokenizer)
    assert isinstance(network, DecoderOnly), "a language model has no encoder"
    texts = gate_texts(model, text)
    with draft_folder(out) as draft:
        llama.write(network, model.tokenizer, draft, window=model.recipe.data.max_tokens)
        write_recipe(model, draft)
        gate = compare_texts(network, tokenizer, llama.opened(draft), texts)
        report = TextExportReport(folder=out, step=model.checkpoint.step, gate=gate)
        if not gate.passed:
            raise _failed(report)
        proof = json.dumps(gate.to_dict(), ensure_ascii=False, indent=2, allow_nan=False) + "\n"
        (draft / GATE_FILE).write_text(proof, encoding="utf-8")
        card = text_card(model, network, gate=gate, name=out.name, texts=texts)
        (draft / README).write_text(card, encoding="utf-8")
        write_card(model, draft, target=report.target, name=out.name, weights=(WEIGHTS,))
    return report


def _failed(report: TextExportReport) -> RunFailed:
    evidence = "\n".join(f"  got     {line}" for line in report.gate.render().splitlines())
    return RunFailed(
        f"the export of step {report.step} for {report.target} differs from the trainer; nothing was written\n"
        f"{evidence}\n"
        "  fix     report this with the recipe and the versions of trimtab and the library: it is a defect"
    )
