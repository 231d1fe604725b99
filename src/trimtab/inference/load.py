"""A checkpoint's model on its device, with the tokenizers and the recipe that belong to it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import torch
from torch import Tensor, nn

from trimtab.checkpoint.load import Checkpoint
from trimtab.checkpoint.log_findings import log_finding
from trimtab.checkpoint.resolve import resolve_checkpoint, split_weights
from trimtab.checkpoint.run_folder import RunFolder
from trimtab.config.given_path import RUN, path_text
from trimtab.config.load import load_recipe
from trimtab.config.modular_model import ModularModel
from trimtab.config.modular_routes import named_route
from trimtab.config.run import Recipe
from trimtab.data.stored_tokenizer import AnyTokenizer
from trimtab.data.tags import check_tags, unlike_training
from trimtab.data.tokenizers import Tokenizers, load_tokenizers
from trimtab.data.transforms.apply import build_transforms
from trimtab.decode.documents import DocumentCounts
from trimtab.decode.search import Search
from trimtab.device import choose_device
from trimtab.errors import InputError, input_error
from trimtab.inference.adapter_folder import put_adapter, with_adapter
from trimtab.inference.aligner import aligner_for
from trimtab.inference.chosen_weights import chosen_weights, weights_sha256
from trimtab.inference.ready import prepare_for_inference
from trimtab.inference.recorded import recorded
from trimtab.inference.setup import document_context, opener_of, translation_setup
from trimtab.inference.tagged import Tagged
from trimtab.inference.translator import Translator
from trimtab.model.kinds import Model
from trimtab.model.lora import (
    add_lora,
    base_weights,
    begin_adapter,
    load_checkpoint_weights,
    merged_copy,
    merged_weights,
)
from trimtab.model.modular.modular import Modular
from trimtab.model.pretrained import fill_pretrained
from trimtab.model.text_model import build_model
from trimtab.types import Translates


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """A checkpoint's model on its device, in evaluation mode, with what belongs to it."""

    recipe: Recipe
    checkpoint: Checkpoint
    model: Model
    tokenizers: Tokenizers
    tags: tuple[str, ...] = ()
    """Put before each line where no others are named: those of the direction of a modular model."""

    def __repr__(self) -> str:
        size = f"{self.model.num_parameters() / 1e6:.1f}M parameters"
        return f"LoadedModel({str(self.checkpoint.folder)!r}, {size}, {self.device})"

    @property
    def tokenizer(self) -> AnyTokenizer:
        """The target's tokenizer, which is also the source's where they share one."""
        return self.tokenizers.target

    @property
    def name(self) -> str:
        """The folder of its run."""
        return str(self.checkpoint.run)

    @property
    def translates(self) -> Translates:
        """The model as decoding sees it."""
        return opener_of(self.model, self.tokenizers)

    @property
    def device(self) -> torch.device:
        """Where it computes."""
        return self.model.output_matrix.device

    def with_adapter(self, folder: Path | str) -> "LoadedModel":
        """The same model with the adapter of a folder in PEFT's format, or of a run. The weights of the base are shared
        and stay as they are, so that one base serves several adapters, each by the model that this gives.

        Raises InputError where there is no adapter, or it is not one of this model.
        """
        sha256 = weights_sha256(self.checkpoint, self.recipe)
        return replace(self, model=with_adapter(self.model, Path(folder), base=self.name, sha256=sha256))

    def merged(self) -> "LoadedModel":
        """The same model without an adapter: its products are in the matrices."""
        return replace(self, model=merged_copy(self.model))

    def translator(self, *, search: Search, tags: tuple[str, ...] = ()) -> Translator:
        """Ready to translate; logs a warning where no line of the training was tagged so.

        Raises InputError for a tag that the vocabulary does not have.
        """
        data = self.recipe.data
        pipeline = build_transforms(data.transforms, columns=data.factor_columns)
        tags = self.look_at(tags)
        tokenizer = Tagged(self.tokenizers, tags)
        setup = recorded(
            translation_setup(self.model, tokenizer, pipeline.apply_source, recipe=self.recipe, search=search)
        )
        context = document_context(self.recipe, self.tokenizers, num_tags=len(tags))
        aligner = partial(aligner_for, self.model, self.recipe, self.tokenizers)
        return Translator(setup, DocumentCounts(), pipeline.restorer(), context, open_aligner=aligner)

    def look_at(self, tags: Sequence[str]) -> tuple[str, ...]:
        """The tags as the vocabulary spells them. Logs a warning where no line of the training was tagged so; raises
        InputError for a tag that is none."""
        tags = check_tags(tags or self.tags, self.tokenizers.source, config=self.recipe.data)
        for finding in unlike_training(tags, self.recipe.data):
            log_finding(finding)
        return tags


@dataclass(frozen=True, slots=True)
class LoadedModular:
    """A checkpoint's modular model, whole."""

    recipe: Recipe
    checkpoint: Checkpoint
    model: Modular
    tokenizers: Tokenizers


def load_modular(spec: Path | str, *, device: str | None = None) -> LoadedModular:
    """The whole modular model of `RUN`, `RUN@last` or `RUN@500` in float32. Raises InputError as `load_model` does, and
    for a run whose model is none."""
    checkpoint = resolve_checkpoint(path_text(spec, name="run", allowed=RUN))
    run = RunFolder(checkpoint.run)
    recipe = load_recipe(run.recipe).recipe
    if not isinstance(recipe.model, ModularModel):
        raise input_error(
            f"{run.path}: its model is not modular",
            got=f"`model.kind: {recipe.model.kind}`",
            allowed="a run with `model.kind: modular`",
            fix="name another run",
        )
    tokenizers = load_tokenizers(run.tokenizer)
    check_tokenizers(tokenizers, run, checkpoint)
    model = Modular(
        recipe.model, num_ids=tokenizers.target.num_ids, max_positions=recipe.max_positions, seed=recipe.seed
    )
    load_weights(model, run, chosen_weights(checkpoint, recipe), checkpoint=checkpoint)
    return LoadedModular(recipe, checkpoint, model.to(choose_device(device)).eval(), tokenizers)


def load_direction(spec: Path | str, *, device: torch.device) -> LoadedModel:
    """A direction of a modular model as the translator that it is, such as `RUN#en-de`. On a GPU in half precision."""
    whole = load_modular(spec, device="cpu")
    return direction_of(whole, whole.checkpoint.direction, device=device)


def direction_of(whole: LoadedModular, name: str, *, device: torch.device) -> LoadedModel:
    """The same of a model that is loaded already; see `named_route` for what a direction may be called. On a CPU the
    translators of all directions share the weights of the model."""
    try:
        route, recipe, tags = named_route(whole.recipe, name)
    except InputError as error:
        raise InputError(
            *(replace(each, what=f"{whole.checkpoint.run}: {each.what}") for each in error.problems)
        ) from None
    model: Model = whole.model.translator_of(route)
    kernel = "padded" if recipe.model.needs_padding else "varlen"
    ready = prepare_for_inference(device, model, kernel=kernel)
    return LoadedModel(recipe, whole.checkpoint, ready, whole.tokenizers, tags)


def load_model(
    spec: Path | str, *, device: str | None = None, adapter: str | None = None, base: Path | None = None
) -> LoadedModel:
    """The model of `RUN`, `RUN@last` or `RUN@500`; on a GPU in half precision. Its weights are those that the run
    evaluates, or what `RUN@ema`, `RUN@500:ema` or `RUN@500:raw` says. `adapter` is a folder in PEFT's format, or
    a run that trained an adapter on this very model, which must have none of its own. `base` is where the pretrained
    weights are that the adapter of a run adapts, where that is another folder than in its training.

    Raises InputError if there is no such run or checkpoint, the checkpoint is damaged, or recipe or tokenizer are
    not those that it was trained with; and where it has no averaged weights.
    """
    place = choose_device(device)
    checkpoint = resolve_checkpoint(path_text(spec, name="run", allowed=RUN))
    run = RunFolder(checkpoint.run)
    recipe = load_recipe(run.recipe).recipe
    if not recipe.facts.writes_text:
        raise writes_nothing(recipe, run)
    if isinstance(recipe.model, ModularModel):
        if adapter is not None:
            raise _no_adapter(run, adapter)
        return load_direction(spec, device=place)
    if checkpoint.direction:
        raise input_error(
            f"{run.path}: only a modular model has directions",
            got=f"#{checkpoint.direction}, of a run with `model.kind: {recipe.model.kind}`",
            allowed="the run without a direction",
            fix="leave it out; in a model trained with tags, choose the direction by `--tag`",
        )
    if base is not None:
        recipe = with_base(recipe, base)
    tokenizers = load_tokenizers(run.tokenizer)
    check_tokenizers(tokenizers, run, checkpoint)
    model = build_model(
        recipe, tokenizers, device=torch.device("cpu"), drawn=None if recipe.adapter else False
    )
    if recipe.adapter is not None:
        add_lora(model, recipe.adapter, seed=recipe.seed, device=place)
        take_base(model, recipe, run=run)
        begin_adapter(model)
    load_weights(model, run, chosen_weights(checkpoint, recipe), checkpoint=checkpoint)
    if adapter is not None:
        put_adapter(model, Path(adapter), base=str(spec), sha256=weights_sha256(checkpoint, recipe))
    kernel = "padded" if recipe.model.needs_padding else "varlen"
    return LoadedModel(recipe, checkpoint, prepare_for_inference(place, model, kernel=kernel), tokenizers)


def _no_adapter(run: RunFolder, adapter: str) -> InputError:
    return input_error(
        f"{run.path}: a modular model takes no adapter",
        got=f"--adapter {adapter}",
        allowed="none",
        fix="leave it out",
    )


def with_base(recipe: Recipe, base: Path) -> Recipe:
    """The recipe with another place of its pretrained weights; their sha256 must be what it says."""
    moved = recipe.model.model_copy(update={"path": str(base)})
    return recipe.model_copy(update={"model": moved})


def take_base(model: Model, recipe: Recipe, *, run: RunFolder) -> None:
    """Puts the weights that a run's adapter adapts into its model, from where the run took them.

    Raises InputError where they are gone or others by now.
    """
    if recipe.model.pretrained_path:
        refuse_gone(recipe.model.pretrained_path, run=run, key="model.path")
        fill_pretrained(model, recipe.model.pretrained_path, sha256=recipe.model.pretrained_sha256)
        return
    assert recipe.model.warm_start is not None, "an adapter adapts trained weights"
    refuse_gone(split_weights(recipe.model.warm_start)[0], run=run, key="model.warm_start")
    base = load_model(recipe.model.warm_start, device="cpu")
    found, wanted = weights_sha256(base.checkpoint, base.recipe), recipe.model.warm_start_sha256
    if wanted not in (None, found):
        raise input_error(
            f"{run.path}: the run that its adapter adapts holds other weights",
            got=f"sha256 {found[:16]} in {recipe.model.warm_start}",
            allowed=f"sha256 {str(wanted)[:16]}",
            fix="put back the checkpoint that it was trained on, or train the adapter again",
        )
    weights = merged_weights(base.model)
    with torch.no_grad():
        for name, tensor in base_weights(model).items():
            if name in model.frozen or name not in dict(model.named_parameters()):
                tensor.copy_(weights[name])


def refuse_gone(base: str, *, run: RunFolder, key: str) -> None:
    """Raises InputError if the base model of a run's adapter is no longer at its path."""
    path = base if Path(base).exists() else base.rpartition("@")[0] or base
    if not Path(path).exists():
        raise input_error(
            f"{run.path}: the base model of its adapter is missing from {path}",
            got="no file or folder at this path",
            allowed="the model whose weights the run began with",
            fix=f"put it back, or set `{key}` in {run.recipe} to its new path",
        )


def writes_nothing(recipe: Recipe, run: RunFolder) -> InputError:
    """The error for a model that cannot write the text it is asked for."""
    return input_error(
        f"{run.path}: its model generates no text",
        got=f"a run with `task: {recipe.task}`",
        allowed="a run that translates or generates",
        fix=f"use it with `{recipe.facts.command} RUN`, or name another run",
    )


def check_tokenizers(tokenizers: Tokenizers, run: RunFolder, checkpoint: Checkpoint) -> None:
    """Raises InputError if the ids of a side mean something else than they did in training."""
    found, trained_with = tokenizers.fingerprints, checkpoint.fingerprints
    for name in ("tokenizer", "source_tokenizer"):
        here, there = found.get(name), trained_with.get(name)
        if here != there and "tokenizer" in trained_with:
            raise input_error(
                f"{run.tokenizer}: not the {name.replace('_', ' ')} that the model was trained with",
                got=f"sha256 {here[:16]}" if here else "none",
                allowed=f"{there[:16] if there else 'none'}, as checkpoint {checkpoint.folder.name} says",
                fix="restore the tokenizer of this run",
            )


def load_weights(
    model: nn.Module, run: RunFolder, weights: Mapping[str, Tensor], *, checkpoint: Checkpoint
) -> None:
    """Puts a checkpoint's weights into the model; InputError if the recipe describes another one."""
    try:
        load_checkpoint_weights(model, weights)
    except RuntimeError as error:
        raise input_error(
            f"{run.recipe}: does not describe the model in checkpoint {checkpoint.folder.name}",
            got=" ".join(str(error).split(":", 1)[-1].split())[:200],
            fix="restore the recipe that this run was trained with",
        ) from None
