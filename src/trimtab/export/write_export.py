"""Exports a model: refuse by name, write a draft, compare it with the trainer, and only then give it its name."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, assert_never

from trimtab.config.corpora import ParallelFiles
from trimtab.config.export_targets import facts_of, no_export_of_options
from trimtab.data.exact_text import ExactText
from trimtab.errors import InputError, RunFailed, input_error
from trimtab.export.byte_products import FULL, largest_weight
from trimtab.export.card import CardWords, language_model_words, model_card, translator_words
from trimtab.export.continuation_gate import compare_continuations
from trimtab.export.draft import check_place, draft_folder
from trimtab.export.gate import GateReport
from trimtab.export.manifest import write_manifest, write_recipe
from trimtab.export.quantized import Quantized
from trimtab.export.samples import GateLine, GateText, gate_lines, gate_texts, origins
from trimtab.export.target import ContinuesPrompts, Target, TargetCard, Trained, TranslatesLines
from trimtab.export.translation_gate import compare_translations
from trimtab.model.decoder_only import DecoderOnly
from trimtab.model.encoder_decoder import EncoderDecoder
from trimtab.model.kinds import ContinuesTexts
from trimtab.model.module.causal import CausalModule
from trimtab.model.module.seq2seq import Seq2SeqModule
from trimtab.model.module.x_transformers import XDecoder, XTranslator

README = "README.md"
GATE_FILE = Path("trimtab") / "gate.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportReport:
    """What was exported, and how it was proven."""

    folder: Path
    target: str
    step: int
    gate: GateReport

    def __repr__(self) -> str:
        return f"ExportReport({str(self.folder)!r}, step {self.step} for {self.target})"

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


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenText:
    """Text of the user's own to compare an export on, in place of the run's."""

    source: Path | str | None = None
    reference: Path | str | None = None
    tags: tuple[str, ...] = ()


class LinesProof:
    """How the export of a model that translates lines is proven."""

    def __init__(self, trained: Trained, given: GivenText) -> None:
        """Raises InputError if one side of the text is missing."""
        self.trained, self.given = trained, _pairs(given)

    def samples(self) -> list[GateLine]:
        """The lines that it is compared on."""
        return gate_lines(self.trained, self.given)

    def compare(
        self, opened: TranslatesLines, samples: Sequence[GateLine], quantized: Quantized
    ) -> GateReport:
        """The report on a draft."""
        return compare_translations(self.trained, opened, samples, quantized)

    def tags(self) -> tuple[str, ...]:
        """Those of the exported direction, or those that every line of the training had before it."""
        if self.trained.tags:
            return self.trained.tags
        tagged = [corpus.tags for corpus in self.trained.recipe.data.train]
        return tagged[0] if all(tagged) else ()

    def words(self, name: str, card: TargetCard) -> CardWords:
        """What the model card says of the model."""
        return translator_words(self.trained, name, tags=self.tags())


class TextsProof:
    """How the export of a model that continues prompts is proven."""

    def __init__(self, trained: Trained, model: ContinuesTexts, given: GivenText) -> None:
        """Raises InputError if references or tags are given, which a text does not have."""
        self.trained, self.model, self.given = trained, model, _text(given)

    def samples(self) -> list[GateText]:
        """The texts that it is compared on."""
        return gate_texts(self.trained, self.given)

    def compare(
        self, opened: ContinuesPrompts, samples: Sequence[GateText], quantized: Quantized
    ) -> GateReport:
        """The report on a draft; no target rounds the weights of a language model."""
        return compare_continuations(self.model, ExactText(self.trained.tokenizer), opened, samples)

    def tags(self) -> tuple[str, ...]:
        """Texts have none."""
        return ()

    def words(self, name: str, card: TargetCard) -> CardWords:
        """What the model card says of the model."""
        return language_model_words(self.trained, name, class_name=card.class_name)


def proof_of(trained: Trained, given: GivenText, *, target: str) -> LinesProof | TextsProof:
    """How the export of this model is proven, which follows from what the model can do. Raises InputError for a kind of
    model that no target takes."""
    match trained.model:
        case EncoderDecoder() | Seq2SeqModule():
            return LinesProof(trained, given)
        case DecoderOnly() | CausalModule() as model:
            return TextsProof(trained, model, given)
        case XDecoder() | XTranslator():
            raise InputError(no_export_of_options(target))
        case _:
            assert_never(trained.model)


def write_export(
    trained: Trained,
    target: Target,
    place: Path,
    *,
    given: GivenText,
    quantized: Quantized,
    written: Trained | None = None,
) -> ExportReport:
    """Writes the model in the form of the target's library and proves it on 200 real samples. `written` is the model
    in the form in which the target takes it, an adapter merged, where that is another.

    Raises InputError with every key of the recipe that prevents the export, before anything is written; RunFailed, with
    what differs, where the export does not pass, and then there is no folder.
    """
    proof = proof_of(trained, given, target=target.name)
    check_place(place, run=Path(trained.checkpoint.run))
    if problems := target.supports(trained.recipe, trained.tokenizers):
        raise InputError(*problems)
    samples = proof.samples()
    with draft_folder(place) as draft:
        target.write(written or trained, draft)
        write_recipe(trained, draft)
        report = ExportReport(
            folder=place,
            target=target.name,
            step=trained.checkpoint.step,
            gate=proof.compare(target.as_users_open_it(draft), samples, quantized),
        )
        if not report.gate.passed:
            raise _failed(report, quantized)
        text = json.dumps(report.gate.to_dict(), ensure_ascii=False, indent=2, allow_nan=False) + "\n"
        (draft / GATE_FILE).write_text(text, encoding="utf-8")
        card = target.card(trained, name=place.name, tags=proof.tags())
        words = proof.words(place.name, card)
        readme = model_card(trained, words, card, gate=report.gate, name=place.name, origins=origins(samples))
        (draft / README).write_text(readme, encoding="utf-8")
        write_manifest(trained, draft, target=target.name, name=place.name, files=target.files)
    return report


def _pairs(given: GivenText) -> ParallelFiles | None:
    source, reference, tags = given.source, given.reference, given.tags
    if source is None and reference is None and not tags:
        return None
    if source is None or reference is None:
        raise input_error(
            "export: the text to compare on needs both sides",
            got=f"no {'--source' if source is None else '--reference'}",
            allowed="--source FILE --reference FILE, or neither of them and no tags",
            fix="name both, or none for the run's own validation sets",
        )
    return ParallelFiles(source=str(source), target=str(reference), tags=tags)


def _text(given: GivenText) -> Path | str | None:
    if given.reference is not None or given.tags:
        raise input_error(
            "export: a language model is compared on text only",
            got="a reference or tags",
            allowed="--source FILE, or none for the run's own validation sets",
            fix="leave --reference and --tag out",
        )
    return given.source


def _failed(report: ExportReport, quantized: Quantized) -> RunFailed:
    evidence = "\n".join(f"  got     {line}" for line in report.gate.render().splitlines())
    fix = "report this with the recipe and the versions of trimtab and the library: it is a defect"
    if report.gate.loss is not None and not report.gate.loss.is_within:
        fix = (
            "keep more bits by another --quantization, or allow more by --loss if the references lose little"
        )
        hint = facts_of(report.target).int8_without_vnni
        if hint is not None and "int8" in quantized.kind and largest_weight() < FULL:
            fix += (
                ".\n          This processor has no VNNI, so that sums of products of bytes may spill over:"
                f"\n          {hint}"
            )
    return RunFailed(
        f"the export of step {report.step} for {report.target} differs from the trainer; nothing was written\n"
        f"{evidence}\n"
        f"  fix     {fix}"
    )
