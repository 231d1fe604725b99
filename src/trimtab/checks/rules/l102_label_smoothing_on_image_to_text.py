"""L102 label-smoothing-on-image-to-text"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.own_key import calls_of
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "from transformers import Seq2SeqTrainer, Seq2SeqTrainingArguments, VisionEncoderDecoderModel\nmodel = "
    'VisionEncoderDecoderModel.from_pretrained("microsoft/trocr-small-printed")\nargs = '
    'Seq2SeqTrainingArguments(output_dir="out", per_device_train_batch_size=8, '
    "label_smoothing_factor={value})\n"
)

RULE = Rule(
    code="L102",
    name="label-smoothing-on-image-to-text",
    severity="warning",
    message="label smoothing {value} with an image-to-text model (TrOCR and its like)",
    why="With smoothing on, the Trainer takes the labels out of the batch before it calls the model, and "
    "such a model makes its decoder inputs from the labels. Unless the collator adds `decoder_input_ids`, "
    "the first step fails; padding that is not -100 in the labels is smoothed as well, and the releases "
    "4.46 to 5.14 multiply its gradients under accumulation. People report that it explodes; nothing known "
    "says that it helps here.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/trainer.py",
            "`compute_loss` pops the labels where there is a label smoother, and only then calls the model.",
        ),
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/models/vision_encoder_decoder/modeling_vision_encoder_decoder.py",
            "The forward makes `decoder_input_ids` from `labels` alone, by shifting them to the right; "
            "without both the decoder has no input.",
        ),
    ),
    fix=Fix(
        "set `label_smoothing_factor: 0`; to keep it, add `decoder_input_ids` in the collator with "
        "`model.prepare_decoder_input_ids_from_labels(labels)`, padding as -100 in the labels"
    ),
    bad=Example("train.py", _SCRIPT.format(value=0.1)),
    good=Example("train.py", _SCRIPT.format(value=0.0)),
    aliases=("TT102",),
    tips=("S0-58",),
    symptoms=(
        "label smoothing explodes",
        "You have to specify either decoder_input_ids or decoder_inputs_embeds",
        "TrOCR diverges",
    ),
)
_FAMILIES = frozenset({"trocr", "vision-encoder-decoder"})


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where the model is known to be one that reads text off images."""
    smoothing = run.setting("label_smoothing")
    if smoothing is None or smoothing.value <= 0 or run.tool != "transformers":
        return
    is_image_to_text = run.value("model_family") in _FAMILIES or run.value("task") == "vision_text"
    if is_image_to_text or any(
        "VisionEncoderDecoderModel" in (call.qualifier.rpartition(".")[2], call.name)
        for call in calls_of(
            run, "from_pretrained", "from_encoder_decoder_pretrained", "VisionEncoderDecoderModel"
        )
    ):
        yield RULE.at(smoothing, value=f"{smoothing.value:g}")
