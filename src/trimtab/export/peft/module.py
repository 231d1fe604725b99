"""`--to peft` of an adapter on a module of transformers: its matrices by their names there, a head beside them where it
has one, and the tokenizer."""

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save

from trimtab.checkpoint.run_folder import RunFolder
from trimtab.config.adapter import LoraAdapter
from trimtab.config.transformers_model import TransformersModel
from trimtab.data.stored_sides import FILES
from trimtab.export.hf.library import open_tokenizer, quiet
from trimtab.export.hf.marian_engine import HuggingFaceModel
from trimtab.export.hf.module import (
    SETTINGS,
    OpenedModule,
    copy_kept_files,
    write_languages,
    write_search,
)
from trimtab.export.plain_files import read_object, write_object
from trimtab.export.target import TargetCard, Trained
from trimtab.model.module.module_model import PREFIX, ModuleModel
from trimtab.model.module.seq2seq import Seq2SeqModule
from trimtab.model.peft_tensors import peft_settings_of_module, peft_tensors

CONFIG, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"


def write_translator(trained: Trained, model: Seq2SeqModule, folder: Path) -> None:
    """Writes the adapter of a translator, its tokenizer, and the settings of its search."""
    recipe = trained.recipe
    assert recipe.adapter is not None, "runs without one are refused"
    assert isinstance(recipe.model, TransformersModel), "that is what such a recipe describes"
    write_adapter(model, recipe.adapter, base=recipe.model.path, folder=folder)
    write_tokenizer(RunFolder(trained.checkpoint.run).tokenizer / FILES, folder)
    write_search(trained, model, folder)
    write_languages(trained, folder)


def write_adapter(model: ModuleModel, adapter: LoraAdapter, *, base: str, folder: Path) -> None:
    """Writes the matrices of an adapter and their settings."""
    tensors = {name: each.detach().float().cpu().contiguous() for name, each in peft_tensors(model)}
    (folder / WEIGHTS).write_bytes(save(tensors, metadata={"format": "pt"}))
    write_object(folder / CONFIG, peft_settings_of_module(adapter, model, base=base))


def write_tokenizer(files: Path, folder: Path) -> None:
    """Copies the tokenizer of the base, and names its class: without a `config.json` in the folder transformers would
    not find it."""
    copy_kept_files(files, folder)
    path = folder / SETTINGS
    said = read_object(folder, SETTINGS) if path.exists() else {}
    write_object(path, {"tokenizer_class": type(open_tokenizer(files)).__name__, **said})


def opened_translator(folder: Path, *, bits: int) -> OpenedModule:
    """What PEFT makes of the draft on the model that it was trained on, on the CPU in float32."""
    from transformers import AutoModelForSeq2SeqLM, GenerationConfig

    network = opened_network(AutoModelForSeq2SeqLM, folder, bits=bits)
    network.generation_config = GenerationConfig.from_pretrained(folder)
    start = network.generation_config.decoder_start_token_id
    return OpenedModule(HuggingFaceModel(network.eval(), start=start), open_tokenizer(folder))


def opened_network(form: Any, folder: Path, *, bits: int, skipped: tuple[str, ...] = (), **more: Any) -> Any:
    """The base that PEFT has put an adapter into, in float32; in 4 bits but for the maps `skipped`, where the adapter
    was trained so."""
    from peft import PeftModel
    from transformers import BitsAndBytesConfig

    given: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False, "dtype": torch.float32}
    if bits == 4:
        given["quantization_config"] = BitsAndBytesConfig(
            load_in_4bit=True,
            bnb_4bit_quant_type="nf4",
            bnb_4bit_use_double_quant=True,
            bnb_4bit_compute_dtype=torch.float32,
            llm_int8_skip_modules=list(skipped) or None,
        )
        given["device_map"] = "cpu"
    base = json.loads((folder / CONFIG).read_text(encoding="utf-8"))["base_model_name_or_path"]
    with quiet():
        adapted = PeftModel.from_pretrained(form.from_pretrained(base, **given, **more), folder)
    compute_in_float32(adapted)
    return adapted.get_base_model().eval()  # its layers have the adapter in them


def compute_in_float32(network: Any) -> None:
    """Keeps bitsandbytes from packing matrices in 4 bits for products in bfloat16, as it does on CPUs that have these:
    they are less exact than the gate demands, and matrices narrower than a block of 64 cannot be packed so."""
    for module in network.modules():
        if hasattr(module, "support_avx512bf16_for_cpu"):
            module.support_avx512bf16_for_cpu = False


def head_modules(model: ModuleModel) -> tuple[str, ...]:
    """Names of the linear maps of a head, which no base in 4 bits packs."""
    return tuple(sorted({name.removeprefix(PREFIX).rpartition(".")[0] for name in model.head_names}))


def card(trained: Trained, *, name: str, limits: tuple[str, ...]) -> TargetCard:
    """How PEFT uses the folder of a translator."""
    model = trained.recipe.model
    assert isinstance(model, TransformersModel), "that is what such a recipe describes"
    base, folder = (json.dumps(each, ensure_ascii=False) for each in (Path(model.path).name, name))
    return TargetCard(
        library="peft",
        usage=(
            "from peft import PeftModel\n"
            "from transformers import AutoModelForSeq2SeqLM, AutoTokenizer, GenerationConfig\n\n"
            f"tokenizer = AutoTokenizer.from_pretrained({folder})\n"
            f"base = AutoModelForSeq2SeqLM.from_pretrained({base})\n"
            f"model = PeftModel.from_pretrained(base, {folder})\n"
            f"model.generation_config = GenerationConfig.from_pretrained({folder})\n"
            'batch = tokenizer(["A line to translate."], return_tensors="pt")\n'
            "print(tokenizer.batch_decode(model.generate(**batch), skip_special_tokens=True)[0])"
        ),
        limits=limits,
    )
