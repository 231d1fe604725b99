"""An adapter in PEFT's format, or of a run, on a model, without merging it."""

import copy
import json
from pathlib import Path
from shlex import quote
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import nn

from trimtab.checkpoint.log_findings import log_finding
from trimtab.checkpoint.resolve import resolve_checkpoint
from trimtab.checkpoint.run_folder import RunFolder
from trimtab.config.load import load_recipe
from trimtab.config.pretrained.place import HUB_NAME
from trimtab.config.pretrained_model import PretrainedModel
from trimtab.config.run import Recipe
from trimtab.config.transformers_model import TransformersModel
from trimtab.errors import InputError, input_error, unreadable
from trimtab.inference.chosen_weights import chosen_weights
from trimtab.model.decoder_only import DecoderOnly
from trimtab.model.encoder_decoder import EncoderDecoder
from trimtab.model.kinds import Model
from trimtab.model.lora import adapted_maps, add_lora, cast_adapter, load_checkpoint_weights
from trimtab.model.module.module_model import ModuleModel
from trimtab.model.peft_tensors import TakesAdapter, settings_of_peft, take_peft_tensors
from trimtab.run_findings.evaluations import ADAPTER_OF_PACKED_BASE

CONFIG, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
RECIPE, TRAINED = "recipe.yaml", "trimtab/trained.yaml"
"""Of a run, and of what an export made of one."""
MOST_BYTES = 1_000_000


def with_adapter(model: Model, folder: Path, *, base: str, sha256: str | None = None) -> Model:
    """A model with an adapter that shares every weight with the one without, which stays as it is; see
    `put_adapter`."""
    tensors = [*model.parameters(), *model.buffers()]
    other = copy.deepcopy(model, {id(each): each for each in tensors})
    put_adapter(other, folder, base=base, sha256=sha256)
    return other.eval()


def put_adapter(model: nn.Module, folder: Path, *, base: str, sha256: str | None = None) -> None:
    """Gives a model the adapter in a folder that PEFT or `trimtab export --to peft` wrote, or the one that a run
    trained; it computes in the precision of the model. `base` is what messages call the model, and `sha256` that of its
    weights, where it is known: an adapter of a run says which it was trained on.

    Raises InputError where the folder holds none, it is no LoRA of linear maps, or not of this model, and where the
    model has one already.
    """
    if not isinstance(model, TakesAdapter) or any(True for _ in adapted_maps(model)):
        raise input_error(
            f"--adapter: {base} takes none",
            got="a run with an adapter of its own",
            allowed="a model without an adapter",
            fix="leave --adapter out, or name the model that the adapter was trained on",
        )
    if (folder / RECIPE).is_file():
        _put_that_of_run(model, folder, base=base, sha256=sha256)
        return
    if not (folder / CONFIG).is_file() or not (folder / WEIGHTS).is_file():
        raise input_error(
            f"--adapter: {folder} holds no adapter",
            got=", ".join(sorted(each.name for each in folder.iterdir())[:5])
            if folder.is_dir()
            else "no folder",
            allowed=f"a folder with {CONFIG} and {WEIGHTS}, or a run that trained an adapter",
            fix=f"`hf download {folder} --local-dir DIR`, and name DIR"
            if HUB_NAME.fullmatch(str(folder)) and not folder.parent.exists()
            else "write one: `trimtab export RUN --to peft --out DIR`",
        )
    if (folder / TRAINED).is_file():
        recipe = load_recipe(folder / TRAINED).recipe
        _refuse_other_base(recipe, folder, base=base, sha256=sha256)
        _say_if_packed(recipe, folder, base=base)
    said = _read(folder / CONFIG)
    try:
        tensors = load_file(folder / WEIGHTS)
    except (SafetensorError, OSError, ValueError) as error:
        raise input_error(
            f"{folder / WEIGHTS}: not a complete safetensors file",
            got=" ".join(str(error).split())[:200],
            fix="write the adapter again",
        ) from None
    names = {"tensors" if isinstance(model, ModuleModel) else "native_tensors": [*tensors]}
    config = settings_of_peft(said, name=str(folder / CONFIG), **names)
    add_lora(model, config, seed=0)
    cast_adapter(model, model.output_matrix.dtype)
    if isinstance(model, ModuleModel):
        own_head(model)
    if config.embeddings == "train":
        for name, table in [*model.named_children()]:
            if isinstance(table, nn.Embedding):  # its own, since the base keeps its rows
                setattr(model, name, nn.Embedding.from_pretrained(table.weight.detach().clone()))
                getattr(model, name).weight.requires_grad = True
    tied = bool(said.get("ensure_weight_tying"))
    take_peft_tensors(model, tensors, name=str(folder / WEIGHTS), stay_tied=tied)


def recipe_of_adapter(folder: Path, *, base: str) -> Recipe:
    """The recipe that an adapter was trained with: of a run, or of what `export --to peft` made of one. Raises
    InputError for a folder that has none."""
    path = next((each for each in (folder / RECIPE, folder / TRAINED) if each.is_file()), None)
    if path is None:
        raise input_error(
            f"--adapter: {folder} does not say what it was trained for",
            got=f"no {RECIPE} and no {TRAINED}, beside {base}",
            allowed="a run that trained an adapter, or what `trimtab export RUN --to peft` wrote",
            fix="merge it with PEFT's merge_and_unload and save_pretrained, and name that folder in `model.path`",
        )
    return load_recipe(path).recipe


def own_head(model: ModuleModel) -> None:
    """Gives the model a head of its own, since the base keeps its weights."""
    for name in model.head_names:
        owner, _, attribute = name.rpartition(".")
        own = nn.Parameter(model.get_parameter(name).detach().clone())
        setattr(model.get_submodule(owner), attribute, own)


def _put_that_of_run(
    model: DecoderOnly | EncoderDecoder | ModuleModel, folder: Path, *, base: str, sha256: str | None
) -> None:
    recipe = load_recipe(RunFolder(folder).recipe).recipe
    if recipe.adapter is None or recipe.adapter.embeddings == "train":
        raise _not_apart(folder, "its embeddings too" if recipe.adapter is not None else "all weights")
    _refuse_other_base(recipe, folder, base=base, sha256=sha256)
    _say_if_packed(recipe, folder, base=base)
    checkpoint = resolve_checkpoint(str(folder))
    # The base is the one that is given, in the precision that it has.
    add_lora(model, recipe.adapter.model_copy(update={"quantize_base": "none"}), seed=0)
    cast_adapter(model, model.output_matrix.dtype)
    if isinstance(model, ModuleModel):
        own_head(model)
    try:
        load_checkpoint_weights(model, chosen_weights(checkpoint, recipe))
    except RuntimeError as error:
        raise input_error(
            f"--adapter: {folder} is not an adapter of {base}",
            got=" ".join(str(error).split(":", 1)[-1].split())[:200],
            allowed="the adapter of a run on a model of the same shape",
            fix="use it with the model that it was trained on",
        ) from None


def _refuse_other_base(recipe: Recipe, folder: Path, *, base: str, sha256: str | None) -> None:
    """Raises InputError if the adapter was trained on other weights than the base has, where both are known."""
    own = recipe.model
    of_files = isinstance(own, PretrainedModel | TransformersModel)
    wanted = own.sha256 if of_files else own.warm_start_sha256
    if sha256 is not None and wanted is not None and sha256 != wanted:
        raise input_error(
            f"--adapter: {folder} was trained on other weights than those of {base}",
            got=f"sha256 {sha256[:16]}",
            allowed=f"sha256 {wanted[:16]}, of " + str(own.path if of_files else own.warm_start),
            fix="name the model that it was trained on",
        )


def _say_if_packed(recipe: Recipe, folder: Path, *, base: str) -> None:
    if recipe.adapter is not None and recipe.adapter.quantize_base == "nf4":
        log_finding(
            ADAPTER_OF_PACKED_BASE.found(
                f"the adapter of {folder} was trained on its base in 4 bits, and {base} is in full precision"
            )
        )


def _not_apart(folder: Path, what: str) -> InputError:
    return input_error(
        f"--adapter: {folder} is no adapter that goes with another model",
        got=f"a run that trained {what}",
        allowed="a run with `adapter` and frozen embeddings",
        fix=f"use it by itself: it is a model, as in `trimtab translate {quote(str(folder))}`",
    )


def _read(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            said = json.loads(file.read(MOST_BYTES))
    except OSError as error:
        raise unreadable(error, path) from None
    except (ValueError, RecursionError) as error:
        raise input_error(
            f"{path}: not valid JSON", got=str(error)[:200], fix="write the adapter again"
        ) from None
    return said if isinstance(said, dict) else {}
