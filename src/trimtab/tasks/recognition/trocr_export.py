"""`trimtab export --to hf` of a pretrained recognizer: a folder that transformers opens, proven on real images."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

from trimtab.checkpoint.run_folder import RunFolder
from trimtab.data.sentencepiece_model import LINE_ENDS
from trimtab.data.stored_sides import FILES
from trimtab.decode.hypothesis import Symbols
from trimtab.errors import RunFailed, input_error
from trimtab.export.draft import check_place, draft_folder
from trimtab.export.hf.library import GENERATION, open_tokenizer, quiet
from trimtab.export.hf.module import copy_kept_files, write_config, write_network, write_object
from trimtab.export.quantized import Quantized
from trimtab.export.target import Target
from trimtab.export.write_export import GivenText
from trimtab.tasks.recognition.export import (
    LineGate,
    by_trainer,
    export_recognizer,
    images_of,
    refuse_text_and_quantization,
)
from trimtab.tasks.recognition.recognizer import Recognizer, load_recognizer
from trimtab.tasks.recognition.trocr import PretrainedReader, keep_positions
from trimtab.tasks.task import ExportedFolder


def export_reader(
    run: Path | str, target: Target, out: Path, *, given: GivenText, quantized: Quantized
) -> ExportedFolder:
    """See `Task.export`. A pretrained recognizer is written as a folder of transformers by `hf` alone, and proven as
    `export_recognizer` proves graphs, which writes all others."""
    recognizer = load_recognizer(run, device="cpu")
    if not isinstance(recognizer.model, PretrainedReader):
        return export_recognizer(run, target, out, given=given, quantized=quantized)
    if target.name != "hf":
        raise input_error(
            f"export: {run} is a pretrained recognizer, whose layers transformers computes",
            got=f"--to {target.name}",
            allowed="--to hf",
            fix="export it to transformers, or read images with `trimtab recognise RUN`",
        )
    refuse_text_and_quantization(given, quantized)
    checkpoint = recognizer.checkpoint
    check_place(out, run=checkpoint.run)
    with draft_folder(out) as draft:
        write_folder(recognizer, recognizer.model, draft)
        gate = compare(recognizer, [*images_of(recognizer)], draft)
        if not gate.passed:
            raise RunFailed(f"the export differs from the trainer; nothing was written\n{gate.render()}")
        (draft / "gate.json").write_text(json.dumps(gate.to_dict(), indent=2) + "\n", encoding="utf-8")
    usage = "VisionEncoderDecoderModel.from_pretrained and TrOCRProcessor.from_pretrained open it"
    return ExportedFolder(out, target.name, checkpoint.step, gate, usage)


def write_folder(recognizer: Recognizer, model: PretrainedReader, folder: Path) -> None:
    """Writes the weights; the settings, tokenizer and image processor that the run began with; and the settings of
    `generate`, which are those of trimtab's greedy search."""
    files = RunFolder(recognizer.checkpoint.run).tokenizer / FILES
    copy_kept_files(files, folder)
    write_network(model.network, folder)
    write_config(files, folder)
    charset = recognizer.charset
    ids = {"decoder_start_token_id": charset.start, "eos_token_id": charset.end, "pad_token_id": charset.pad}
    suppressed = [*Symbols.of(charset).suppress]
    more = {"suppress_tokens": suppressed} if suppressed else {}
    longest = recognizer.recipe.data.max_tokens
    limits = {"max_new_tokens": longest, "forced_eos_token_id": charset.end}
    write_object(folder / GENERATION, {**ids, **more, **limits, "num_beams": 1})


@torch.inference_mode()
def compare(recognizer: Recognizer, images: list[np.ndarray], folder: Path) -> LineGate:
    """The trainer against transformers, image by image, each with its own resizing, tokenizer and search."""
    from transformers import AutoImageProcessor, VisionEncoderDecoderModel

    with quiet():
        network: Any = VisionEncoderDecoderModel.from_pretrained(
            folder, local_files_only=True, trust_remote_code=False, use_safetensors=True
        ).eval()
        keep_positions(network)
        processor = AutoImageProcessor.from_pretrained(folder, local_files_only=True)
    tokenizer, charset = open_tokenizer(folder), recognizer.charset
    worst, otherwise = 0.0, 0
    for pixels in images:
        ours = by_trainer(recognizer, pixels, head="attention")
        values = processor(Image.fromarray(pixels), return_tensors="pt").pixel_values
        fed = torch.tensor([[charset.start, *ours.ids[:-1]]])
        scores = network(pixel_values=values, decoder_input_ids=fed).logits[0].float().log_softmax(1)
        worst = max(worst, float(np.abs(ours.scores - scores.numpy()).max()))
        written = network.generate(values)[0, 1:].tolist()
        differs = ours.differs_from(written[: written.index(charset.end) + 1])
        text = LINE_ENDS.sub(" ", tokenizer.decode(ours.ids, skip_special_tokens=True))
        otherwise += differs or text != charset.decode([ours.ids])[0]
    sizes = len({each.shape for each in images})
    return LineGate(len(images), sizes, ("attention",), worst, otherwise)
