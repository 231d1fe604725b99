"""A folder that an export wrote, ready to translate and to score: its own weights, run by the library it is for."""

from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import ClassVar

import torch

from trimtab.checkpoint.log_findings import log_finding
from trimtab.config.given_path import RUN, path_text
from trimtab.config.pairs_alone import refuse_pairs_alone
from trimtab.config.pretrained.place import CONFIG, refuse_unknown_name, where_it_is
from trimtab.config.run import Recipe
from trimtab.config.tokenizer import PretrainedTokenizer
from trimtab.config.transformers_model import TransformersModel
from trimtab.data.exact_text import ExactText
from trimtab.data.side_tokenizers import read_side
from trimtab.data.tags import check_tags, unlike_training
from trimtab.data.tokenizers import Tokenizers
from trimtab.data.transforms.apply import build_transforms
from trimtab.decode.batches import GPU_BATCH_TOKENS
from trimtab.decode.documents import DocumentCounts
from trimtab.decode.search import Search
from trimtab.decode.setup import TranslationSetup
from trimtab.device import choose_device
from trimtab.errors import InputError, input_error
from trimtab.export.hf.marian_engine import HuggingFaceModel
from trimtab.export.hf.module import ModuleEngine
from trimtab.export.open_export import is_export, read_export
from trimtab.export.target import Engine, TextEngine
from trimtab.inference.adapter_folder import RECIPE as OF_RUN
from trimtab.inference.adapter_folder import put_adapter, recipe_of_adapter
from trimtab.inference.load import LoadedModel, load_model, with_base
from trimtab.inference.setup import CPU_BATCH_TOKENS
from trimtab.inference.tagged import Tagged
from trimtab.inference.translator import Translator
from trimtab.model.module.seq2seq import Seq2SeqModule
from trimtab.model.text_model import build_model
from trimtab.step.precision import resolve_precision
from trimtab.types import Ragged


@dataclass(frozen=True, slots=True)
class ExportedModel:
    """An export with what belongs to it; the counterpart of `LoadedModel`."""

    tags: ClassVar[tuple[str, ...]] = ()
    """None are put before lines unless they are named."""
    name: str
    recipe: Recipe
    engine: Engine
    tokenizers: Tokenizers

    @property
    def translates(self) -> Engine:
        """The model as decoding sees it."""
        return self.engine

    @property
    def device(self) -> torch.device:
        """Where it computes."""
        return self.engine.device

    def translator(self, *, search: Search, tags: tuple[str, ...] = ()) -> Translator:
        """Ready to translate; as that of a run."""
        tags = self.look_at(tags)
        pipeline = build_transforms(self.recipe.data.transforms)
        on_gpu = self.device.type == "cuda"
        setup = TranslationSetup(
            model=self.engine,
            tokenizer=Tagged(self.tokenizers, tags),
            device=self.device,
            normalise=pipeline.apply_source,
            max_tokens=self.recipe.data.max_tokens,
            search=search,
            batch_tokens=GPU_BATCH_TOKENS if on_gpu else CPU_BATCH_TOKENS * search.beam,
            encode_target=self.tokenizers.target.encode,
        )
        return Translator(setup, DocumentCounts(), pipeline.restorer())

    def look_at(self, tags: tuple[str, ...] | list[str]) -> tuple[str, ...]:
        """The tags as the vocabulary spells them. Logs a warning where no line of the training was tagged so; raises
        InputError for a tag that is none."""
        tags = check_tags(tags, self.tokenizers.source, config=self.recipe.data)
        for finding in unlike_training(tags, self.recipe.data):
            log_finding(finding)
        return tags

    def log_probabilities(self, source: Ragged, target: Ragged) -> list[float]:
        """Summed log-probability of each row of target ids after its row of source ids."""
        return [sum(row) for row in self.engine.log_probabilities(source, target)]


def open_model(
    spec: Path | str, *, device: str | None = None, adapter: Path | str | None = None
) -> LoadedModel | ExportedModel:
    """The model of a run or a checkpoint, or the exported one in a folder. Raises InputError if there is neither."""
    spec = path_text(spec, name="run", allowed=RUN)
    if adapter is not None:
        refuse_unknown_name(
            spec, wanted="a run, or a pretrained translator: a folder, or OWNER/NAME that is downloaded"
        )
    if adapter is not None and (base := where_it_is(spec, folder=Path.cwd()) / CONFIG).is_file():
        return open_adapted(base.parent, Path(adapter), device=device)
    if not is_export(Path(spec)):
        return load_model(spec, device=device, adapter=None if adapter is None else str(adapter))
    if adapter is not None:
        raise takes_no_adapter(spec)
    return load_exported(Path(spec), device=device)


def open_adapted(folder: Path, adapter: Path, *, device: str | None) -> LoadedModel | ExportedModel:
    """A pretrained translator in the form of Hugging Face with an adapter of it: the run that trained it, or what
    `export --to peft` made of that run. Raises InputError for others, which do not say what languages and lengths they
    are for, and where the weights in the folder are not those that the adapter was trained on."""
    recipe = recipe_of_adapter(adapter, base=str(folder))
    if (
        recipe.facts.one_row
        or not recipe.facts.writes_text
        or not isinstance(recipe.model, TransformersModel)
    ):
        raise input_error(
            f"--adapter: {adapter} is no adapter of a pretrained translator",
            got=f"task: {recipe.task}, with `model.kind: {recipe.model.kind}`",
            allowed="an adapter of a run with `task: translation` and `model.kind: pretrained`",
            fix="name the model that it was trained on, such as the run in its `model.warm_start`",
        )
    if (adapter / OF_RUN).is_file():
        return load_model(str(adapter), device=device, base=folder)
    device_ = choose_device(device)
    recipe = with_base(recipe, folder)
    told = recipe.data.tokenizer
    assert isinstance(told, PretrainedTokenizer), "a pretrained translator has its own"
    told = told.model_copy(update={"path": str(folder)})
    tokenizers = Tokenizers(*(read_side(told, side, task="translation") for side in ("source", "target")))
    model = build_model(recipe, tokenizers, device=torch.device("cpu"))
    assert isinstance(model, Seq2SeqModule), "that is what such a recipe describes"
    taken = model.fill(str(folder), sha256=recipe.model.sha256)
    put_adapter(model, adapter, base=str(folder), sha256=taken.sha256)
    if device_.type == "cuda":
        half = torch.float16 if resolve_precision("auto", device_) == "fp16_mixed" else torch.bfloat16
        model = model.half_precision_copy(half)
    model = model.to(device_).eval()
    opened = HuggingFaceModel(model.network, start=tokenizers.target.start)
    return ExportedModel(str(folder), recipe, ModuleEngine(model, opened), tokenizers)


def takes_no_adapter(spec: str) -> InputError:
    """The error for an adapter beside an export."""
    return input_error(
        f"--adapter: {spec} is an export, which trimtab opens as it is",
        got="an export and an adapter",
        allowed="an adapter beside the run or the pretrained model that it was trained on",
        fix="name that model, or leave --adapter out",
    )


def load_exported(folder: Path, *, device: str | None = None) -> ExportedModel:
    """The exported model in a folder. Raises InputError if something of it is missing, closed to this user, damaged
    or too new, and where it is a language model."""
    export = read_export(folder)
    if export.recipe.facts.one_row:
        raise _goes_on(folder)
    engine = export.open(device=device)
    assert isinstance(engine, Engine), "a target opens a translator as something that translates"
    return ExportedModel(str(folder), export.recipe, engine, export.tokenizers)


@dataclass(frozen=True, slots=True)
class ExportedText:
    """An exported language model with what belongs to it."""

    model: TextEngine
    tokenizer: ExactText
    window: int
    """Most tokens that it has learned to read."""
    recipe: Recipe
    """That of the run it was exported from."""


def load_exported_text(folder: Path, *, device: str | None = None) -> ExportedText:
    """The exported language model in a folder. Raises InputError if something of it is missing, closed to this user,
    damaged or too new, and where it translates, as a model of pairs alone does too."""
    export = read_export(folder)
    if not export.recipe.facts.one_row:
        raise translates(str(folder))
    refuse_pairs_alone(export.recipe, name=str(folder))
    engine = export.open(device=device)
    assert isinstance(engine, TextEngine), (
        "a target opens a language model as something that continues prompts"
    )
    return ExportedText(
        engine, ExactText(export.tokenizers.target), export.recipe.data.max_tokens, export.recipe
    )


def _goes_on(folder: Path) -> InputError:
    return input_error(
        f"{folder}: an exported language model translates nothing",
        got="task: language_model",
        allowed="an export of a model that translates",
        fix=f"continue a text with it, `trimtab generate {quote(str(folder))}`, "
        f"or measure one, `trimtab evaluate {quote(str(folder))} --text FILE`",
    )


def translates(spec: str) -> InputError:
    """The error for a model that has a source to read."""
    return input_error(
        f"{spec}: a translation model, which cannot continue a prompt",
        got="an encoder-decoder",
        allowed="a language model: `task: language_model` in its recipe",
        fix=f"translate with it: `trimtab translate {quote(spec)}`",
    )
