"""The weights of a pretrained model, from safetensors or GGUF, in the native decoder."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn

from trimtab.config.pretrained.place import GGUF
from trimtab.errors import InputError, input_error, unreadable
from trimtab.model.block import DecoderBlock
from trimtab.model.decoder_only import DecoderOnly
from trimtab.model.gguf_weights import GgufWeights
from trimtab.model.lora import base_weights
from trimtab.units import counted

WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"
EMBEDDINGS, HEAD = "model.embed_tokens.weight", "lm_head.weight"
PICKLED = (".bin", ".pt", ".pth", ".ckpt", ".h5", ".msgpack")
PACKED = frozenset({"I8", "U8", "F8_E4M3", "F8_E5M2", "F8_E8M0", "F4", "F6_E2M3", "F6_E3M2"})
"""As safetensors names them."""
ADAPTER = "adapter_config.json"
MOST_NAMED = 5
MOST_BYTES = 100_000_000
"""Of the index of a model in several files."""


@runtime_checkable
class Weights(Protocol):
    """The tensors of a pretrained model, by their names in transformers."""

    @property
    def files(self) -> tuple[Path, ...]:
        """What they are read from."""
        ...

    @property
    def names(self) -> frozenset[str]:
        """All of them."""
        ...

    def read(self, name: str) -> tuple[Tensor, str]:
        """A tensor on the CPU, and how it is stored."""
        ...


@runtime_checkable
class HasFill(Protocol):
    """A model that reads the weights of a folder itself."""

    def fill(self, path: str, *, sha256: str | None = None) -> "Taken":
        """Puts them in."""
        ...


@dataclass(frozen=True, slots=True)
class Taken:
    """What was put into a model."""

    sha256: str
    tensors: int
    stored: Mapping[str, int]
    """Numbers by how they are stored in the files."""
    dtype: str
    """What they are trained in."""

    def __str__(self) -> str:
        most = sorted(self.stored.items(), key=lambda each: -each[1])
        kept = ", ".join(kind for kind, _ in most)
        return f"{counted(self.tensors, 'tensor')}, {kept} in the files, {self.dtype} in training"


def fill_pretrained(model: Any, path: str, *, sha256: str | None = None) -> Taken:
    """Fills a model with the weights at a path: the native decoder from weights of other names, any other by its own
    `fill`. Raises InputError as `take_pretrained` does."""
    if isinstance(model, HasFill):
        return model.fill(path, sha256=sha256)
    return take_pretrained(model, path, sha256=sha256)


@torch.no_grad()
def take_pretrained(model: DecoderOnly, path: str, *, sha256: str | None = None) -> Taken:
    """Fills the model with the weights at a path, a folder or a GGUF file, each number in the precision that the model
    has; rows that stand for no id become zero.

    Raises InputError where a tensor is missing, left over, of another shape or not finite, where the weights are
    pickled alone, and where they are not those of the `sha256`.
    """
    weights = open_weights(Path(path))
    check_stored(weights, path=path)
    refuse_adapter(Path(path))
    found = sha256_of(weights.files)
    if sha256 not in (None, found):
        raise input_error(
            f"model.sha256: {path} holds other weights",
            got=found,
            allowed=str(sha256),
            fix="put back the files that the run began with, or leave model.sha256 out for a new run",
        )
    wanted = dict(named_rows(model))
    ignored = {HEAD} if model.output is None else set[str]()
    _check_names(weights, wanted, ignored, path=path)
    if model.output is None and HEAD in weights.names:
        _check_tied(weights, path=path)
    stored = Counter[str]()
    for name, rows in wanted.items():
        tensor, kind = weights.read(name)
        if tensor.shape != rows.shape:
            raise refused(
                path, got=f"{name} {list(tensor.shape)}", allowed=f"{list(rows.shape)}, as its settings say"
            )
        if not all(each.isfinite() for each in tensor.aminmax()):  # both are NaN where one number is
            raise refused(path, got=f"numbers that are not finite in {name}", allowed="finite numbers")
        rows.copy_(tensor)
        stored[kind] += tensor.numel()
    rest = 0
    for embedding in (model.embedding, model.output):
        if embedding is not None:
            embedding.weight[model.num_ids :] = 0.0
            rest += embedding.weight[model.num_ids :].numel()
    filled = sum(rows.numel() for rows in wanted.values()) + rest
    assert filled == sum(each.numel() for each in base_weights(model).values()), (
        "every weight is in the files"
    )
    dtype = str(model.embedding.weight.dtype).removeprefix("torch.")
    return Taken(found, len(wanted), dict(stored), dtype)


def named_rows(model: DecoderOnly) -> Iterator[tuple[str, Tensor]]:
    """Every tensor of the model by its name in transformers, as a view of the rows that hold it here."""
    yield EMBEDDINGS, model.embedding.weight[: model.num_ids]
    for number, block in enumerate(model.decoder.blocks):
        assert isinstance(block, DecoderBlock)
        yield from _of_block(block, f"model.layers.{number}")
    yield "model.norm.weight", _weight(model.decoder.norm)
    if model.output is not None:
        yield HEAD, model.output.weight[: model.num_ids]


def _of_block(block: DecoderBlock, name: str) -> Iterator[tuple[str, Tensor]]:
    attention, inner = block.attention, block.feed_forward
    yield f"{name}.input_layernorm.weight", _weight(block.norm_attention)
    yield f"{name}.post_attention_layernorm.weight", _weight(block.norm_feed_forward)
    kept = attention.kv_heads * attention.size
    rows = {"q_proj": attention.heads * attention.size, "k_proj": kept, "v_proj": kept}
    yield from split_rows(attention.qkv, {f"{name}.self_attn.{each}": size for each, size in rows.items()})
    yield from split_rows(attention.out, {f"{name}.self_attn.o_proj": attention.out.out_features})
    for norm, letter in ((attention.norm_queries, "q"), (attention.norm_keys, "k")):
        if norm is not None:
            yield f"{name}.self_attn.{letter}_norm.weight", _weight(norm)
    half = inner.up.out_features // 2
    yield from split_rows(inner.up, {f"{name}.mlp.gate_proj": half, f"{name}.mlp.up_proj": half})
    yield from split_rows(inner.down, {f"{name}.mlp.down_proj": inner.down.out_features})


def split_rows(linear: nn.Linear, rows: Mapping[str, int]) -> Iterator[tuple[str, Tensor]]:
    """Maps that stand one below another in one matrix, each by its own name."""
    for name, part in zip(rows, linear.weight.split(list(rows.values())), strict=True):
        yield f"{name}.weight", part
    if linear.bias is not None:
        for name, part in zip(rows, linear.bias.split(list(rows.values())), strict=True):
            yield f"{name}.bias", part


def open_weights(path: Path) -> Weights:
    """The tensors of a folder or of a GGUF file, of which none is read yet; InputError if there are none."""
    if not path.exists():
        raise input_error(
            f"model.path: {path} is gone",
            got="no file or folder at this path",
            allowed="the pretrained model whose weights the run begins with",
            fix="put it back, or pass its new path as `model.path=PATH` after the options of `trimtab train`",
        )
    if path.suffix == GGUF:
        return GgufWeights.open(path)
    if (path / INDEX).is_file():
        return SafetensorsWeights.open(path, _files_of_index(path))
    if (path / WEIGHTS).is_file():
        return SafetensorsWeights.open(path, [WEIGHTS])
    pickled = sorted(each.name for each in path.iterdir() if each.suffix in PICKLED) if path.is_dir() else []
    raise input_error(
        f"model.path: {path} has no weights in safetensors",
        got=", ".join(pickled) or f"no {WEIGHTS}",
        allowed=f"{WEIGHTS}, or {INDEX} with its files; pickled weights could execute code and are never read",
        fix="convert them: `AutoModelForCausalLM.from_pretrained(FOLDER).save_pretrained(NEW_FOLDER)`, where you "
        "trust their origin"
        if pickled
        else "name the folder that has them, or download the model again",
    )


@dataclass(frozen=True, slots=True)
class SafetensorsWeights:
    """Tensors of one or several files of safetensors."""

    files: tuple[Path, ...]
    places: dict[str, Path]
    """In which file each tensor is."""

    @classmethod
    def open(cls, folder: Path, names: list[str]) -> "SafetensorsWeights":
        """The tensors of these files; InputError if one is missing or damaged."""
        places: dict[str, Path] = {}
        for file in (folder / name for name in names):
            try:
                with safe_open(file, framework="pt") as opened:
                    places |= dict.fromkeys(opened.keys(), file)
            except (SafetensorError, OSError) as error:
                got = " ".join(str(error).split())[:200]
                raise refused(str(file), got=got, allowed="a complete safetensors file") from None
        return cls(tuple(folder / name for name in names), places)

    @property
    def names(self) -> frozenset[str]:
        """All tensors."""
        return frozenset(self.places)

    def read(self, name: str) -> tuple[Tensor, str]:
        """See `Weights`."""
        with safe_open(self.places[name], framework="pt") as opened:
            tensor = opened.get_tensor(name)
        return tensor, str(tensor.dtype).removeprefix("torch.")


def _files_of_index(folder: Path) -> list[str]:
    try:
        with (folder / INDEX).open("rb") as file:
            index: Any = json.loads(file.read(MOST_BYTES))
        names = sorted(set(index["weight_map"].values()))
    except OSError as error:
        raise unreadable(error, folder / INDEX) from None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise refused(
            str(folder / INDEX),
            got=f"{type(error).__name__}: {error}"[:200],
            allowed="an index with a weight_map",
        ) from None
    for name in names:
        if not isinstance(name, str) or Path(name).name != name or not name.endswith(".safetensors"):
            raise refused(
                str(folder / INDEX), got=f"the file {name!r}"[:200], allowed="files of the same folder"
            )
        if not (folder / name).is_file():
            raise refused(str(folder), got=f"no {name}", allowed=f"every file that {INDEX} names")
    return names


def _check_names(weights: Weights, wanted: Mapping[str, Tensor], ignored: set[str], *, path: str) -> None:
    there = {name for name in weights.names if not name.endswith(".rotary_emb.inv_freq")}
    missing, left = sorted(wanted.keys() - there), sorted(there - wanted.keys() - ignored)
    told = {"missing": missing, "left over": left}
    if missing == [HEAD] and not left:
        raise input_error(
            f"{path}: no output matrix, which config.json has apart from the embeddings",
            got=f"tie_word_embeddings: false, and no {HEAD}",
            allowed=f"{HEAD} in the files, or `tie_word_embeddings: true`",
            fix='write `"tie_word_embeddings": true` in config.json, if the model was trained so, or download it again',
        )
    if missing or left:
        got = "; ".join(
            f"{len(names)} {what}: {', '.join(names[:MOST_NAMED])}" for what, names in told.items() if names
        )
        raise refused(path, got=got, allowed="every tensor of the model and no other")


def check_stored(weights: Weights, *, path: str) -> None:
    """Raises InputError where numbers of safetensors are packed in 8 bits or fewer, which nothing here unpacks."""
    if not isinstance(weights, SafetensorsWeights):
        return
    for file in weights.files:
        with safe_open(file, framework="pt") as opened:
            for name in opened.keys():  # noqa: SIM118
                if (kind := str(opened.get_slice(name).get_dtype())) in PACKED:
                    raise input_error(
                        f"{path}: quantized weights cannot be trained here",
                        got=f"{name} in {kind}",
                        allowed="float32, float16 or bfloat16, or a .gguf file",
                        fix="take the model before it was quantized",
                    )


def refuse_adapter(folder: Path) -> None:
    """Raises InputError for a folder with an adapter in it: transformers would load it over the weights."""
    if (folder / ADAPTER).exists():
        raise input_error(
            f"model.path: {folder} is an adapter, or has one beside its weights",
            got=ADAPTER,
            allowed="the weights of a whole model",
            fix="merge the adapter with PEFT's merge_and_unload() and save_pretrained()",
        )


def _check_tied(weights: Weights, *, path: str) -> None:
    """Raises InputError where the files hold an output matrix that is not the embeddings, though settings tie them."""
    if torch.equal(weights.read(HEAD)[0], weights.read(EMBEDDINGS)[0]):
        return
    raise input_error(
        f"{path}: config.json ties two matrices that differ in the files",
        got=f"tie_word_embeddings: true, and {HEAD} apart from {EMBEDDINGS}",
        allowed="one matrix for both, or `tie_word_embeddings: false`",
        fix='write `"tie_word_embeddings": false` in config.json, and both are trained as the files hold them',
    )


def sha256_of(files: tuple[Path, ...]) -> str:
    """That of one file, or of the names and hashes of several."""

    def digest(path: Path) -> tuple[str, str]:
        with path.open("rb") as file:
            return path.name, hashlib.file_digest(file, "sha256").hexdigest()

    with ThreadPoolExecutor(max_workers=8) as pool:  # hashing releases the interpreter
        digests = [*pool.map(digest, files)]
    if len(digests) == 1:
        return digests[0][1]
    return hashlib.sha256(json.dumps(sorted(digests)).encode()).hexdigest()


def refused(path: str, *, got: str, allowed: str) -> InputError:
    """The error for weights that are not those of the model's settings."""
    return input_error(
        f"{path}: not the weights of this model",
        got=got,
        allowed=allowed,
        fix="download the model again, weights and config.json together",
    )


def _weight(module: nn.Module) -> Tensor:
    weight = module.weight
    assert isinstance(weight, Tensor)
    return weight
