"""`--to hf` of a pretrained translator: the folder that it came from, with the weights that it has now.

Settings and tokenizer are the files that the run copied when it began; weights are in float32; and the settings of
`generate` are those of trimtab's search, with the languages of the recipe.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file

from trimtab.checkpoint.run_folder import RunFolder
from trimtab.config.export_targets import obstacles
from trimtab.config.pretrained.place import CONFIG
from trimtab.config.run import Recipe
from trimtab.data.sentencepiece_model import LINE_ENDS
from trimtab.data.side_tokenizer import SideTokenizer
from trimtab.data.stored_sides import FILES, TOKENIZER_FILES
from trimtab.data.tokenizers import Tokenizers
from trimtab.errors import Problem, input_error
from trimtab.export.hf.library import GENERATION, WEIGHTS, open_tokenizer, quiet, unreadable
from trimtab.export.hf.marian_engine import HuggingFaceModel
from trimtab.export.hf.marian_opened import OpenedHuggingFace
from trimtab.export.hf.marian_settings import search
from trimtab.export.plain_files import read_object, write_object
from trimtab.export.target import Trained
from trimtab.model.module.network import state_without_doubles
from trimtab.model.module.seq2seq import Seq2SeqModule
from trimtab.model.text_model import build_model
from trimtab.types import DecoderSession, Ragged, Stream

SETTINGS = "tokenizer_config.json"
OF_FILES = ("torch_dtype", "dtype", "_name_or_path", "transformers_version", "auto_map")
"""Settings that speak of other files than these."""


def supports(recipe: Recipe, tokenizers: Tokenizers) -> list[Problem]:
    """A problem for each key that the export cannot express."""
    return obstacles("hf", model=recipe.model, transforms=recipe.data.transforms)


def write(trained: Trained, model: Seq2SeqModule, folder: Path) -> None:
    """Writes weights, settings of model and search, and the tokenizer's files."""
    files = RunFolder(trained.checkpoint.run).tokenizer / FILES
    copy_kept_files(files, folder)
    write_network(model.network, folder)
    write_config(files, folder)
    write_search(trained, model, folder)
    write_languages(trained, folder)


def write_search(trained: Trained, model: Seq2SeqModule, folder: Path) -> None:
    """Writes the settings of `generate`, which are those of trimtab's search."""
    forced = {} if model.forced_first is None else {"forced_bos_token_id": model.forced_first}
    searched = search(trained)
    target = trained.tokenizers.target
    assert isinstance(target, SideTokenizer), "a pretrained translator has its own"
    searched["suppress_tokens"] = sorted({*searched["suppress_tokens"], *target.unspelled})
    write_object(folder / GENERATION, {**searched, **forced})


def write_languages(trained: Trained, folder: Path) -> None:
    """Writes the languages of the recipe into the settings of the tokenizer."""
    tokenizer = trained.recipe.data.tokenizer
    codes = {
        "src_lang": getattr(tokenizer, "source_language", None),
        "tgt_lang": getattr(tokenizer, "target_language", None),
    }
    told = {key: code for key, code in codes.items() if code is not None}
    if trained.tokenizers.source.frame.before or told.keys() == codes.keys():
        path = folder / SETTINGS
        said = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        write_object(path, {**said, **told})


def copy_kept_files(files: Path, folder: Path) -> None:
    """Copies what a run kept of the folder that its model came from, but for the settings of model and search;
    InputError where it is gone."""
    if not (files / CONFIG).is_file():
        raise input_error(
            f"{files}: the files of the pretrained model are gone",
            got=f"no {CONFIG}",
            allowed="the folder as the run wrote it",
            fix="put back the run's tokenizer folder",
        )
    for name in TOKENIZER_FILES:
        if name not in (CONFIG, GENERATION) and (files / name).is_file():
            (folder / name).write_bytes((files / name).read_bytes())


def write_network(network: Any, folder: Path, *, transposed: frozenset[str] = frozenset()) -> None:
    """Writes the weights in float32, a tensor of several names once; those named in `transposed` with rows and columns
    exchanged."""
    state = state_without_doubles(network, "")
    tensors = {
        name: (each.T if name in transposed else each).contiguous().to(wide_of(each.dtype))
        for name, each in state.items()
    }
    save_file(tensors, folder / WEIGHTS, metadata={"format": "pt"})


def wide_of(dtype: torch.dtype) -> torch.dtype:
    """What numbers of this kind are written in."""
    return torch.float32 if dtype.is_floating_point else dtype


def write_config(files: Path, folder: Path, **changes: Any) -> None:
    """Writes the settings of the model as they were, with these changes."""
    kept = {key: value for key, value in read_object(files, CONFIG).items() if key not in OF_FILES}
    write_object(folder / CONFIG, {**kept, "dtype": "float32", **changes})


class ModuleEngine:
    """An exported folder in trimtab's own search; see `export.target.Engine`."""

    def __init__(self, model: Seq2SeqModule, opened: HuggingFaceModel) -> None:
        self.model, self.opened, self.device = model, opened, opened.device

    def open_session(self, source: Stream, *, rows: int, width: int, max_length: int) -> DecoderSession:
        """Encodes the source."""
        return self.model.open_session(source, rows=rows, width=width, max_length=max_length)

    def log_probabilities(self, source: Ragged, target: Ragged) -> list[list[float]]:
        """The natural log-probability of each target token after its row of source ids, rows in their order."""
        return self.opened.log_probabilities(source, target)


def open_engine(
    folder: Path, recipe: Recipe, tokenizers: Tokenizers, *, device: torch.device
) -> ModuleEngine:
    """The model of the recipe with the weights in a folder."""
    model = build_model(recipe, tokenizers, device=torch.device("cpu"))
    assert isinstance(model, Seq2SeqModule), "other kinds have other forms"
    model.fill(str(folder))
    model = model.to(device).eval()
    start = tokenizers.target.start
    return ModuleEngine(model, HuggingFaceModel(model.network, start=start))


class OpenedModule(OpenedHuggingFace):
    """The same as with trimtab's own models; of a translation that holds the end of a line, one line is made."""

    def decode(self, rows: Sequence[Sequence[int]]) -> list[str]:
        """What the tokenizer makes of each row."""
        return [LINE_ENDS.sub(" ", text) for text in super().decode(rows)]


def as_users_open_it(folder: Path) -> OpenedModule:
    """What `from_pretrained` makes of the folder, on the CPU in float32."""
    from transformers import AutoModelForSeq2SeqLM

    try:
        with quiet():
            network = AutoModelForSeq2SeqLM.from_pretrained(
                folder, local_files_only=True, trust_remote_code=False, use_safetensors=True
            )
    except Exception as error:  # the library raises anything on files that it cannot read
        raise unreadable(folder, error) from None
    start = network.generation_config.decoder_start_token_id
    return OpenedModule(HuggingFaceModel(network.float().eval(), start=start), open_tokenizer(folder))


def limits(trained: Trained) -> tuple[str, ...]:
    """What of the trainer's search and text has no place in such a folder."""
    longest = trained.recipe.data.max_tokens
    target = trained.tokenizers.target
    told = [
        f"It was trained on texts of at most {longest} tokens; `trimtab translate` cuts longer lines in pieces.",
        "`early_stopping: never` in `generation_config.json` makes `generate` search as far as the trainer does.",
    ]
    if isinstance(target, SideTokenizer) and target.frame.before:
        told.append("`generation_config.json` forces the first token that the run was trained with.")
    prefix = trained.tokenizers.source.frame.prefix
    if prefix:
        told.append(f"Put {prefix!r} before each source, as the recipe does.")
    return tuple(told)


def reads_prefix(trained: Trained) -> Sequence[str]:
    """What a user has to write before each line."""
    prefix = trained.tokenizers.source.frame.prefix.strip()
    return (prefix,) if prefix else ()
