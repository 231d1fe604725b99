"""`--to peft`: a folder that PEFT loads onto the model that the run began from."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import torch
from safetensors.torch import save

from trimtab.config.export_targets import obstacles
from trimtab.config.load import load_recipe
from trimtab.config.pretrained.place import GGUF
from trimtab.config.pretrained_model import PretrainedModel
from trimtab.config.run import Recipe
from trimtab.config.transformers_model import TransformersModel
from trimtab.data.fast_tokenizer import FastTokenizer
from trimtab.data.tokenizers import Tokenizers
from trimtab.errors import Problem, input_error
from trimtab.export.hf.library import quiet, require_transformers
from trimtab.export.hf.llama_opened import OpenedText
from trimtab.export.hf.llama_shape import generation
from trimtab.export.hf.module import OpenedModule
from trimtab.export.hf.module_text import write_tokenizer as write_text_tokenizer
from trimtab.export.hf.pretrained_tokenizer import write_pretrained_tokenizer
from trimtab.export.hf.target import class_of
from trimtab.export.manifest import RECIPE, without_base
from trimtab.export.peft import module
from trimtab.export.target import TargetCard, Trained, decoder_of
from trimtab.model.module.causal import CausalModule
from trimtab.model.module.seq2seq import Seq2SeqModule
from trimtab.model.peft_tensors import HEAD, PREFIX, peft_settings, peft_tensors

CONFIG, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"


@dataclass(slots=True)
class Peft:
    """The adapter of a pretrained model, without its base; see `module` for those that transformers computes."""

    name: str = "peft"
    files: tuple[str, ...] = (WEIGHTS,)
    bits: int = 32
    """Of the base that the adapter was trained on, for the proof."""

    def supports(self, recipe: Recipe, tokenizers: Tokenizers) -> list[Problem]:
        """Every key of the recipe that prevents the export."""
        require_transformers()
        require_peft()
        found = obstacles("peft", model=recipe.model, transforms=recipe.data.transforms)
        if recipe.adapter is not None and not isinstance(recipe.model, PretrainedModel | TransformersModel):
            found.append(
                Problem(
                    what="model: PEFT loads an adapter onto a model of transformers, and this one adapts a run",
                    got=f"model.warm_start: {recipe.model.warm_start}",
                    allowed="a run with `model.kind: pretrained`",
                    fix="use the run as it is, `--adapter RUN` beside its base, or merge it: `--to hf`",
                )
            )
        if recipe.adapter is None:
            found.append(
                Problem(
                    what="adapter: the run has none, so there is nothing to write in PEFT's format",
                    got="all weights trained",
                    allowed="a run with `adapter: {kind: lora}`",
                    fix="export the whole model: `--to hf`",
                )
            )
        return found

    def write(self, trained: Trained, folder: Path) -> None:
        """The matrices, their settings, and the tokenizer of the model."""
        recipe = trained.recipe
        assert recipe.adapter is not None, "runs without one are refused"
        self.bits = 4 if recipe.adapter.quantize_base == "nf4" else 32
        if isinstance(trained.model, Seq2SeqModule):
            module.write_translator(trained, trained.model, folder)
            return
        if isinstance(trained.model, CausalModule):
            assert isinstance(recipe.model, TransformersModel), "that is what such a recipe describes"
            module.write_adapter(trained.model, recipe.adapter, base=recipe.model.path, folder=folder)
            write_text_tokenizer(trained, folder)
            return
        model = decoder_of(trained)
        assert isinstance(recipe.model, PretrainedModel), "an adapter needs a pretrained model"
        tensors = {name: each.detach().float().cpu().contiguous() for name, each in peft_tensors(model)}
        if (table := tensors.get(f"{PREFIX}.model.embed_tokens.weight")) is not None and HEAD not in tensors:
            tensors[HEAD] = table.clone()  # where PEFT looks for a tied matrix that was trained
        (folder / WEIGHTS).write_bytes(save(tensors, metadata={"format": "pt"}))
        tied = bool(recipe.model.tie_embeddings)
        settings = peft_settings(recipe.adapter, base=recipe.model.path, tied=tied)
        (folder / CONFIG).write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")
        assert isinstance(trained.tokenizer, FastTokenizer), "a pretrained model has its own"
        write_pretrained_tokenizer(trained.tokenizer, folder, window=recipe.data.max_tokens)
        _write_generation(trained, folder)

    def open(
        self, folder: Path, recipe: Recipe, tokenizers: Tokenizers, *, device: torch.device | None
    ) -> NoReturn:
        """Refuses: the folder has no model in it."""
        raise without_base(folder)

    def as_users_open_it(self, folder: Path) -> OpenedText | OpenedModule:
        """What PEFT makes of the draft on the model that it was trained on, on the CPU in float32; its base is in 4
        bits where it was."""
        from peft import PeftModel
        from transformers import AutoModelForCausalLM, BitsAndBytesConfig, GenerationConfig

        of_run = load_recipe(folder / RECIPE).recipe.model
        if isinstance(of_run, TransformersModel) and of_run.has_encoder:
            return module.opened_translator(folder, bits=self.bits)
        base = Path(json.loads((folder / CONFIG).read_text(encoding="utf-8"))["base_model_name_or_path"])
        given: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False, "dtype": torch.float32}
        given |= {"gguf_file": base.name} if base.suffix == GGUF else {"use_safetensors": True}
        if self.bits == 4:
            given["quantization_config"] = BitsAndBytesConfig(
                load_in_4bit=True,
                bnb_4bit_quant_type="nf4",
                bnb_4bit_use_double_quant=True,
                bnb_4bit_compute_dtype=torch.float32,
            )
            given["device_map"] = "cpu"
        with quiet():
            network = AutoModelForCausalLM.from_pretrained(
                base.parent if base.suffix == GGUF else base, **given
            )
            network = PeftModel.from_pretrained(network, folder)
        module.compute_in_float32(network)
        network.generation_config = GenerationConfig.from_pretrained(folder)
        return OpenedText(folder, network)

    def card(self, trained: Trained, *, name: str, tags: Sequence[str] = ()) -> TargetCard:
        """How PEFT uses the folder."""
        model = trained.recipe.model
        if isinstance(model, TransformersModel) and model.has_encoder:
            return module.card(trained, name=name, limits=_limits(trained))
        assert isinstance(model, PretrainedModel | TransformersModel), "an adapter needs a pretrained model"
        base, folder = (json.dumps(each, ensure_ascii=False) for each in (Path(model.path).name, name))
        return TargetCard(
            library="peft",
            usage=(
                "from peft import PeftModel\n"
                "from transformers import AutoModelForCausalLM, AutoTokenizer\n\n"
                f"tokenizer = AutoTokenizer.from_pretrained({folder})\n"
                f"base = AutoModelForCausalLM.from_pretrained({base})\n"
                f"model = PeftModel.from_pretrained(base, {folder})\n"
                'batch = tokenizer(["Once"], return_tensors="pt")\n'
                "written = model.generate(**batch, max_new_tokens=64)\n"
                "print(tokenizer.batch_decode(written, skip_special_tokens=True)[0])"
            ),
            limits=_limits(trained),
            class_name=class_of(trained.model),
        )


def _limits(trained: Trained) -> tuple[str, ...]:
    return (
        *_of_bits(trained),
        f"It was trained on rows of at most {trained.recipe.data.max_tokens} tokens.",
        "It fits the very weights that it was trained on, whose sha256 is in `trimtab/trained.yaml`.",
    )


def _of_bits(trained: Trained) -> tuple[str, ...]:
    adapter = trained.recipe.adapter
    if adapter is None or adapter.quantize_base == "none":
        return ()
    return (
        "Its base was in 4 bits in training (NF4, double quantization): load it with `BitsAndBytesConfig("
        'load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_use_double_quant=True)`. Onto other weights it fits '
        "less exactly.",
    )


def _write_generation(trained: Trained, folder: Path) -> None:
    from transformers import GenerationConfig

    GenerationConfig(**generation(trained.tokenizer)).save_pretrained(folder)


def require_peft() -> None:
    """Raises InputError if PEFT is not installed."""
    try:
        import peft  # noqa: F401
    except ModuleNotFoundError as error:
        if error.name != "peft":
            raise
        raise input_error(
            "--to peft: the export is proven by PEFT, which is not installed",
            got="no peft",
            allowed="peft 0.14 or newer",
            fix='pip install "trimtab[pretrained]"',
        ) from None
