"""Generates text from prompts with a trained language model."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import torch

from trimtab.config.given_path import RUN, path_text
from trimtab.config.pairs_alone import refuse_pairs_alone
from trimtab.config.pretrained.place import refuse_unknown_name, where_it_is
from trimtab.data.exact_text import ExactText
from trimtab.decode.continuation import Continuation
from trimtab.decode.continuing import Continues
from trimtab.decode.generation_config import USUAL, GenerationConfig
from trimtab.decode.given_texts import checked_texts
from trimtab.decode.sampling import Sampling
from trimtab.export.open_export import is_export
from trimtab.inference.adapter_folder import with_adapter as adapted_copy
from trimtab.inference.chat_prompts import ChatPrompts
from trimtab.inference.chosen_weights import weights_sha256
from trimtab.inference.exported import load_exported_text, takes_no_adapter, translates
from trimtab.inference.generator import Generator
from trimtab.inference.load import load_model
from trimtab.inference.pretrained import is_pretrained, load_pretrained
from trimtab.model.kinds import ContinuesTexts
from trimtab.model.prompted import Prompted

GPU_BATCH_TOKENS = 65536
CPU_BATCH_TOKENS = 4096


def generate(
    run: Path | str,
    prompts: Iterable[str],
    *,
    max_tokens: int = 256,
    samples: int = 1,
    sampling: Sampling | None = USUAL,
    stop: Sequence[str] = (),
    device: str | None = None,
) -> Iterator[Continuation]:
    """The texts with which the language model `RUN`, `RUN@last`, `RUN@500`, the folder of an export, or a pretrained
    model (a folder in the form of Hugging Face, a GGUF file, or `OWNER/NAME` that was downloaded) continues from each
    prompt, in order, `samples` for each; an empty prompt begins a text.

    `sampling` says how symbols are drawn; None takes the likeliest each time. The same seed gives a prompt the same
    text whatever prompts stand around it. A text ends with the end symbol, before the first of the strings in `stop`,
    after `max_tokens`, or where the model can read no more, and says which. Raises InputError for a run that
    translates, for one text in place of a list, and for a prompt that is longer than the model can read, besides what
    `load_model` raises.
    """
    prompts = checked_texts(prompts, name="prompts")
    generation = GenerationConfig(
        max_tokens=max_tokens,
        samples=samples,
        sampling=sampling,
        stop=tuple(checked_texts(stop, name="stop")),
    )
    return load_generator(run, device=device).generate(prompts, generation)


def load_generator(
    spec: Path | str, *, device: str | None = None, adapter: str | None = None, chat: bool = False
) -> Generator:
    """The language model of a run, an export or a pretrained model, ready to generate; for many calls, or to see a
    text as it is written (`Generator.stream`). Raises InputError for a model that translates, and one that was trained
    on pairs alone. `adapter` is a folder in PEFT's format, or a run, whose adapter is used without merging it; with
    `chat` each prompt is a question, which the chat template of a pretrained tokenizer writes out."""
    found = _loaded(path_text(spec, name="run", allowed=RUN), device=device, adapter=adapter)
    if not chat:
        return found
    inner = found.tokenizer.inner if isinstance(found.tokenizer, ExactText) else None
    return replace(found, tokenizer=ChatPrompts.of(inner, name=found.name))


def with_adapter(generator: Generator, folder: Path | str) -> Generator:
    """The same language model with the adapter of a folder in PEFT's format, or of a run. The weights of the base are
    shared and stay as they are, so that one base serves several adapters, each by the generator that this gives.

    Raises InputError for a generator of an export, where there is no adapter or it is not one of this model, and where
    it says that it was trained on other weights.
    """
    if not isinstance(generator.model, Prompted):
        raise takes_no_adapter(generator.name)
    model = adapted_copy(generator.model.model, Path(folder), base=generator.name, sha256=generator.sha256)
    assert isinstance(model, ContinuesTexts), "a copy is of the same class"
    return replace(generator, model=Prompted(model))


def _loaded(spec: str, *, device: str | None, adapter: str | None) -> Generator:
    if is_export(Path(spec)):
        if adapter is not None:
            raise takes_no_adapter(spec)
        exported = load_exported_text(Path(spec), device=device)
        return _generator(
            spec, exported.model, exported.tokenizer, device=exported.model.device, window=exported.window
        )
    refuse_unknown_name(
        spec,
        wanted="a run, an export, or a pretrained model: a folder, a .gguf file, or OWNER/NAME that is downloaded",
    )
    if is_pretrained(where_it_is(spec, folder=Path.cwd())):
        base = load_pretrained(spec, device=device, adapter=adapter)
        return _generator(
            spec,
            Prompted(base.model),
            base.tokenizer,
            device=base.device,
            window=base.window,
            sha256=base.sha256,
        )
    model = load_model(spec, device=device, adapter=adapter)
    if model.model.config.has_encoder:
        raise translates(spec)
    refuse_pairs_alone(model.recipe, name=model.name)
    return _generator(
        model.name,
        Prompted(model.model),
        ExactText(model.tokenizer),
        device=model.device,
        window=model.recipe.data.max_tokens,
        sha256=weights_sha256(model.checkpoint, model.recipe),
    )


def _generator(
    name: str,
    model: Continues,
    tokenizer: ExactText,
    *,
    device: torch.device,
    window: int,
    sha256: str | None = None,
) -> Generator:
    return Generator(
        name=name,
        model=model,
        tokenizer=tokenizer,
        device=device,
        window=window,
        sha256=sha256,
        batch_tokens=GPU_BATCH_TOKENS if device.type == "cuda" else CPU_BATCH_TOKENS,
    )
