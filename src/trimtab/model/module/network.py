"""Makes a module of transformers from the settings that a recipe recorded, and fills it with the weights of a folder.

Nothing is downloaded, no code of a folder is executed, and no pickled weights are read.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from trimtab.config.pretrained.families import FAMILIES, Family
from trimtab.config.pretrained.place import CONFIG
from trimtab.config.transformers_model import TransformersModel
from trimtab.errors import input_error
from trimtab.model.lora import base_weights
from trimtab.model.pretrained import Taken, check_stored, open_weights, refuse_adapter, refused, sha256_of

DROPPED = ("model_type", "attn_implementation", "_attn_implementation", "_attn_implementation_internal")
"""Settings that are given otherwise; the last three may name kernels to download."""
DROPOUTS = (
    "attention_dropout", "activation_dropout", "classifier_dropout", "attention_probs_dropout_prob",
    "hidden_dropout_prob", "seq_classif_dropout", "qa_dropout", "attn_pdrop", "embd_pdrop", "embedding_dropout",
)  # fmt: skip
OF_LABELS = ("id2label", "label2id", "problem_type")
"""Settings of the labels that the model had before."""
MOST_NAMED = 5
_NUMBER = re.compile(r"(?<=\.)[0-9]+(?=\.)")
"""Of a layer, in the name of a weight."""


def family_of_model(config: TransformersModel) -> Family:
    """The family that a recipe recorded; InputError where it is none that a module computes."""
    family = FAMILIES.get(config.family)
    if family is None or family.class_name is None:
        allowed = ", ".join(name for name, each in FAMILIES.items() if each.class_name is not None)
        raise input_error(
            "model.family: not a family that transformers computes here",
            got=config.family or "none",
            allowed=allowed,
            fix="write `model: {kind: pretrained, path: ...}`, which reads it from config.json",
        )
    return family


def network_settings(config: TransformersModel, **more: Any) -> Any:
    """The configuration object of transformers for a recipe. LayerDrop is off, so that a step does not depend on how it
    is cut into micro-batches."""
    from transformers import AutoConfig

    family = family_of_model(config)
    dropped = {*DROPPED, *more, *(OF_LABELS if "num_labels" in more else ())}
    try:
        written = json.loads(config.settings)
        kept = {key: value for key, value in written.items() if key not in dropped}
        made = AutoConfig.for_model(config.family, **kept, **more)
    except Exception as error:  # the library raises anything on settings of unknown origin
        raise input_error(
            f"{config.path}/{CONFIG}: transformers cannot read these settings",
            got=" ".join(f"{type(error).__name__}: {error}".split())[:200],
            allowed="the config.json as the model's authors wrote it",
            fix="download the file again",
        ) from None
    *part, name = family.dropout.split(".")
    setattr(getattr(made, part[0]) if part else made, name, config.dropout)
    off = [*(DROPOUTS if config.dropout == 0 else ()), "encoder_layerdrop", "decoder_layerdrop", "layerdrop"]
    for settings in (made, *(getattr(made, key) for key in getattr(made, "sub_configs", ()))):
        for name in off:
            if getattr(settings, name, None):
                setattr(settings, name, 0.0)
    return made


def new_network(config: TransformersModel, settings: Any, *, seed: int) -> Any:
    """The module with first weights that follow from the seed, in float32 on the CPU."""
    import transformers

    name = family_of_model(config).class_name
    assert name is not None, "checked with the family"
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            network = getattr(transformers, name)(settings).float()
    except Exception as error:  # as above: a size of 0, an activation that nobody knows
        raise input_error(
            f"{config.path}/{CONFIG}: transformers cannot build a model from these settings",
            got=" ".join(f"{type(error).__name__}: {error}".split())[:200],
            allowed="the config.json as the model's authors wrote it",
            fix="download the file again",
        ) from None
    output = network.get_output_embeddings()
    if getattr(settings, "attn_logit_softcapping", None) is not None:
        # Of the kernels of transformers that need no further package, this one alone computes these caps.
        network.set_attn_implementation("eager")
    if output is not None and not config.tie_embeddings and _shares(network, output):
        # T5 of transformers 5 makes them one whatever its settings say, until it reads two from a file.
        output.weight = nn.Parameter(output.weight.detach().clone())
    return network


def _shares(network: Any, output: nn.Linear) -> bool:
    named = network.named_parameters(remove_duplicate=False)
    return sum(weight is output.weight for _, weight in named) > 1


@torch.no_grad()
def fill_network(
    network: Any,
    path: str,
    *,
    sha256: str | None = None,
    fresh: tuple[str, ...] = (),
    transposed: frozenset[str] = frozenset(),
) -> Taken:
    """Fills a module with the weights of a folder, in the precision that it has. Tensors whose names begin with one of
    `fresh` may be missing, and then keep their first weights; those named in `transposed` are exchanged in the files.

    Raises InputError where others are missing, of another shape or not finite, where the weights are pickled alone, and
    where they are not those of the `sha256`.
    """
    folder = Path(path)
    weights = open_weights(folder)
    check_stored(weights, path=path)
    found = sha256_of(weights.files)
    if sha256 not in (None, found):
        raise input_error(
            f"model.sha256: {path} holds other weights",
            got=found,
            allowed=str(sha256),
            fix="put back the files that the run began with, or leave model.sha256 out for a new run",
        )
    refuse_adapter(folder)
    loaded, told = loaded_network(network, folder)
    _check_told(told, loaded.state_dict(), path=path, fresh=fresh)
    given = {name: each.T if name in transposed else each for name, each in loaded.state_dict().items()}
    own = base_weights(network)
    missing = {each for each in told["missing_keys"] if each.startswith(fresh)} if fresh else set[str]()
    for name, tensor in given.items():
        if name not in own or own[name].shape != tensor.shape:
            raise refused(
                path, got=f"{name} {list(tensor.shape)}", allowed="the tensors that config.json says"
            )
        if not tensor.isfinite().all():
            raise refused(path, got=f"numbers that are not finite in {name}", allowed="finite numbers")
        if name not in missing:
            own[name].copy_(tensor)
    for one, other in _wrongly_shared(network, loaded):
        raise refused(
            path, got=f"{one} apart from {other}", allowed="tie_word_embeddings as config.json says it"
        )
    stored = Counter[str]()
    for name in weights.names:
        stored[weights.read(name)[1]] += 1
    dtype = str(next(network.parameters()).dtype).removeprefix("torch.")
    return Taken(found, len(weights.names), dict(stored), dtype)


def loaded_network(network: Any, folder: Path) -> tuple[Any, dict[str, Any]]:
    """A module of the same class and settings with the weights of a folder, and what transformers says of them."""
    try:
        with quiet(), torch.random.fork_rng(devices=[]):
            return type(network).from_pretrained(
                folder,
                config=network.config,
                dtype=torch.float32,
                local_files_only=True,
                trust_remote_code=False,
                use_safetensors=True,
                ignore_mismatched_sizes=True,  # they are reported by name
                output_loading_info=True,
            )
    except Exception as error:  # the library raises anything on files of unknown origin
        raise input_error(
            f"model.path: transformers cannot read {folder}",
            got=" ".join(f"{type(error).__name__}: {error}".split())[:200],
            allowed="config.json and *.safetensors of one model",
            fix="download the model again, weights and config.json together",
        ) from None


@contextmanager
def quiet() -> Iterator[None]:
    """No bar of progress from transformers, and no report of what an error of ours says."""
    from transformers.utils import logging

    shown, level = logging.is_progress_bar_enabled(), logging.get_verbosity()
    logging.disable_progress_bar()
    logging.set_verbosity_error()
    try:
        yield
    finally:
        logging.set_verbosity(level)
        if shown:
            logging.enable_progress_bar()


def _check_told(told: dict[str, Any], own: Iterable[str], *, path: str, fresh: tuple[str, ...]) -> None:
    changed = [each if isinstance(each, str) else str(each[0]) for each in told["mismatched_keys"]]
    known = {_NUMBER.sub("0", each) for each in own}
    beyond = [each for each in told["unexpected_keys"] if _NUMBER.sub("0", each) in known]
    names = {
        "missing": told["missing_keys"],
        "of another shape": changed,
        "of layers that config.json does not have": beyond,
    }
    wrong = {
        what: sorted(each for each in found if not each.startswith(fresh)) for what, found in names.items()
    }
    if any(wrong.values()):
        got = "; ".join(
            f"{len(each)} {what}: {', '.join(each[:MOST_NAMED])}" for what, each in wrong.items() if each
        )
        raise refused(path, got=got, allowed="every tensor of the model, of the size that config.json says")


def _wrongly_shared(network: Any, loaded: Any) -> Iterator[tuple[str, str]]:
    """Pairs of names that share a tensor here and hold different numbers in the files."""
    other = loaded.state_dict(keep_vars=True)
    for name, first in shared_names(network).items():
        # Biases of a packed map have a second name within it, which no file knows.
        if name in other and not torch.equal(other[name], other[first]):
            yield name, first


def shared_names(network: nn.Module) -> dict[str, str]:
    """For each name of a tensor that has another name too, the first of them."""
    seen: dict[int, str] = {}
    again: dict[str, str] = {}
    for name, tensor in network.state_dict(keep_vars=True).items():
        first = seen.setdefault(id(tensor), name)
        if first != name:
            again[name] = first
    return again


def state_without_doubles(network: nn.Module, prefix: str) -> dict[str, Tensor]:
    """The state of a module in which a tensor of several names stands once."""
    again = shared_names(network)
    return {prefix + name: each for name, each in network.state_dict().items() if name not in again}
