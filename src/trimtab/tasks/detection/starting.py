"""The weights that a detector begins with: those of another run, or of a folder of transformers."""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from trimtab.config.detector_model import DetectorModel
from trimtab.errors import input_error
from trimtab.model.module.network import loaded_network
from trimtab.model.pretrained import Taken, open_weights, sha256_of

BACKBONES = ("model.backbone.", "model.conv_encoder.", "backbone.")
"""How the names of a backbone's weights begin."""
COUNTER = "num_batches_tracked"
"""Of batch norm, which nothing reads, and which frozen norms of transformers lack."""


@torch.no_grad()
def take_run(old: Any, model: nn.Module, *, part: str, name: str, same_categories: bool) -> str:
    """Takes weights over from the detector of another run, and says what fitted. Heads of other categories stay
    untrained. InputError where weights that should fit have other shapes."""
    given = old.model.network.state_dict()
    network: Any = model.network
    own = network.state_dict()
    wanted = [each for each in own if part == "all" or each.startswith(BACKBONES)]
    heads = {each for each in wanted if not same_categories and is_head(each)}
    missing = [
        each
        for each in wanted
        if each not in heads and (each not in given or given[each].shape != own[each].shape)
    ]
    if missing or not wanted:
        raise input_error(
            f"model.warm_start: {name} is another model",
            got=", ".join(missing[:3]) or "no backbone",
            allowed="a run with the same "
            + ("backbone, backbone_width and batch_norm" if part == "backbone" else "model"),
            fix="copy `model` from its recipe, or set `model.warm_start_part: backbone`",
        )
    taken = [each for each in wanted if each not in heads]
    for each in taken:
        own[each].copy_(given[each])
    return f"{len(taken)} of {len(own)} tensors" + (f", without {len(heads)} of heads" if heads else "")


def is_head(name: str) -> bool:
    """Whether a weight depends on the categories: scores of classes."""
    return any(part in name for part in ("class_embed", "enc_score_head", "class_labels_classifier"))


@torch.no_grad()
def take_folder(network: Any, config: DetectorModel) -> Taken:
    """Fills a network with the weights of a folder. Heads for another number of categories keep their first weights.

    Raises InputError where others are missing, of another shape or not finite, where they are pickled alone, and where
    they are not those of the `sha256`.
    """
    folder = Path(config.path)
    weights = open_weights(folder)
    found = sha256_of(weights.files)
    if config.sha256 not in (None, found):
        raise input_error(
            f"model.sha256: {config.path} holds other weights",
            got=found,
            allowed=str(config.sha256),
            fix="put back the files that the run began with, or leave model.sha256 out for a new run",
        )
    loaded, told = loaded_network(network, folder)
    lacks = {*told["missing_keys"]} | {
        each if isinstance(each, str) else str(each[0]) for each in told["mismatched_keys"]
    }
    lacks = {each for each in lacks if not each.endswith(COUNTER)}
    given, own = loaded.state_dict(), network.state_dict()
    bad = sorted(each for each in lacks if not is_head(each)) or [
        each for each in own if not each.endswith(COUNTER) and not _fits(own[each], given.get(each))
    ]
    if bad:
        raise input_error(
            f"model.path: {config.path} lacks weights of this detector, or has others",
            got=", ".join(bad[:5]),
            allowed="every tensor of the model, finite and of the size that config.json says",
            fix="download the model again, weights and config.json together",
        )
    for name, tensor in own.items():
        if name not in lacks and name in given:
            tensor.copy_(given[name])
    stored: dict[str, int] = {}
    for name in weights.names:
        kind = weights.read(name)[1]
        stored[kind] = stored.get(kind, 0) + 1
    return Taken(found, len(weights.names), stored, "float32")


def _fits(own: Tensor, given: Tensor | None) -> bool:
    return given is not None and given.shape == own.shape and bool(given.isfinite().all())
