"""A pretrained language model as its files hold it, ready to continue texts; before any training."""

from dataclasses import dataclass
from pathlib import Path

import torch

from trimtab.config.pretrained.fill import read_pretrained_model
from trimtab.config.pretrained.place import CONFIG, GGUF, find_pretrained
from trimtab.config.pretrained_model import PretrainedModel
from trimtab.config.tokenizer import PretrainedTokenizer
from trimtab.config.transformers_model import TransformersModel
from trimtab.config.warm_start import RECIPE
from trimtab.data.exact_text import ExactText
from trimtab.data.pretrained_tokenizer import read_pretrained
from trimtab.device import choose_device
from trimtab.inference.adapter_folder import put_adapter
from trimtab.inference.ready import prepare_for_inference
from trimtab.model.decoder_only import DecoderOnly
from trimtab.model.init import without_first_weights
from trimtab.model.kinds import ContinuesTexts
from trimtab.model.module.causal import CausalModule
from trimtab.model.pretrained import take_pretrained

MOST_POSITIONS = 32_768
"""Of which angles are kept; longer texts are no use of this command."""


@dataclass(frozen=True, slots=True)
class PretrainedText:
    """A pretrained model with what belongs to it."""

    model: ContinuesTexts
    tokenizer: ExactText
    window: int
    """Most tokens that it has learned to read."""
    device: torch.device
    sha256: str
    """Of its weights."""


def is_pretrained(folder: Path) -> bool:
    """Whether a path is a GGUF file, or a folder in the form of Hugging Face or with one GGUF file; a run, which has a
    recipe, is none, whatever else is in it."""
    if folder.suffix == GGUF or (folder / RECIPE).is_file():
        return folder.suffix == GGUF
    return (folder / CONFIG).is_file() or len([*folder.glob(f"*{GGUF}")]) == 1


def load_pretrained(spec: str, *, device: str | None = None, adapter: str | None = None) -> PretrainedText:
    """The model in a folder or a GGUF file; on a GPU in half precision. `adapter` is a folder in PEFT's format.

    Raises InputError where something of it is missing, damaged, or of another architecture.
    """
    device_ = choose_device(device)
    place = find_pretrained(spec, folder=Path.cwd(), key="model")
    found, kind = read_pretrained_model(place, task="language_model")
    path, window = str(place.path), min(found.window, MOST_POSITIONS)
    told = PretrainedTokenizer(path=path, vocabulary_size=found.shape["num_ids"])
    tokenizer = read_pretrained(told, key="model")
    if kind == "transformers":
        config = TransformersModel(path=path, **found.shape)
        model = CausalModule(config, max_positions=window, pad=tokenizer.pad, seed=0)
        taken = model.fill(path)
    else:
        native = PretrainedModel(path=path, **found.shape)
        with without_first_weights():
            model = DecoderOnly(native, num_ids=native.num_ids, max_positions=window, seed=0)
        taken = take_pretrained(model, path)
    if adapter is not None:
        put_adapter(model, Path(adapter), base=spec, sha256=taken.sha256)
    ready = prepare_for_inference(device_, model, kernel="padded" if kind == "transformers" else "varlen")
    return PretrainedText(ready, ExactText(tokenizer), window, device_, taken.sha256)
