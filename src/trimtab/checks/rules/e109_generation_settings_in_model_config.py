"""E109 generation-settings-in-model-config"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.roles import loaded_class, root
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule
from trimtab.finding import Severity

_SCRIPT = (
    "from transformers import AutoModelForSeq2SeqLM, Seq2SeqTrainer, Seq2SeqTrainingArguments\n"
    'model = AutoModelForSeq2SeqLM.from_pretrained("facebook/bart-base")\nmodel.{config}.num_beams = 4\n'
    'args = Seq2SeqTrainingArguments(output_dir="out", predict_with_generate=True)\n'
    "Seq2SeqTrainer(model=model, args=args, train_dataset=data).train()\n"
)

RULE = Rule(
    code="E109",
    name="generation-settings-in-model-config",
    severity="warning",
    message="`model.config.{name}` is a setting of generation: {result}",
    why="Generation reads `model.generation_config`. What is written into the model's configuration is ignored where a "
    "generation configuration is there already, and transformers 5 refuses to save a model that has both.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/modeling_utils.py",
            "save_pretrained: generation parameters in the model config raise ValueError.",
        ),
        Maintainer(
            "https://github.com/huggingface/transformers/pull/41695",
            "'Now the model's config will throw an error if generation params are found.'",
        ),
    ),
    fix=Fix("write `model.generation_config.{name} = ...`"),
    bad=Example("train.py", _SCRIPT.format(config="config")),
    good=Example("train.py", _SCRIPT.format(config="generation_config")),
    symptoms=(
        "ValueError when saving",
        "translates into the wrong language",
        "beam search is not used",
        "forced_bos_token_id is ignored by generate",
        "generation settings of model.config have no effect",
    ),
)
_SETTINGS = frozenset(
    {
        "num_beams", "max_length", "min_length", "max_new_tokens", "early_stopping", "length_penalty", "top_k", "top_p",
        "no_repeat_ngram_size", "repetition_penalty", "do_sample", "temperature", "num_return_sequences",
        "forced_bos_token_id", "forced_eos_token_id", "bad_words_ids",
    }
)  # fmt: skip

_USES = ("save_pretrained", "push_to_hub", "generate", "train", "Trainer", "Seq2SeqTrainer")
"""What either saves the model or generates with it."""
_GENERATING = (
    "ForConditionalGeneration", "LMHeadModel", "ForCausalLM", "CausalLM", "Seq2SeqLM", "MTModel", "EncoderDecoderModel",
    "SpeechSeq2Seq", "ImageTextToText",
)  # fmt: skip
"""Ends of the names of classes that generate."""


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where a model that the script loads gets such a setting; an older transformers 4 takes it over."""
    version = run.version("transformers")
    if version is not None and version < (4, 41):
        return
    severity: Severity | None = "error" if version is not None and version >= (5,) else None
    result = (
        "transformers 5 ignores it, and refuses to save the model" if severity else "newer versions ignore it"
    )
    flow = flow_of(run.document)
    if not any(True for _ in flow.named(*_USES)):
        return
    reported: set[str] = set()
    for event in flow.sets(*_SETTINGS):
        of = event.subject
        if of is None or of.made != "attribute" or of.name != "config" or event.name in reported:
            continue
        if not loaded_class(root(of.of)).endswith(_GENERATING) or event.value.constant is None:
            continue
        reported.add(event.name)
        # Some families declare the forced tokens in their own configuration: ignored anyway, and saved.
        is_forced = event.name.startswith("forced_")
        yield RULE.at(
            event.place,
            severity="warning" if is_forced else severity,
            name=event.name,
            result="newer versions ignore it" if is_forced else result,
        )
