"""M116 target-language-not-set"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.document import Call
from trimtab.checks.evidence import Maintainer
from trimtab.checks.own_key import calls_of
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

RULE = Rule(
    code="M116",
    name="target-language-not-set",
    severity="warning",
    message="the NLLB tokenizer is made without `tgt_lang`, and nothing in the script sets it: targets are "
    "marked as {language}",
    why="Each target sentence begins with the code of its language. Without `tgt_lang` the tokenizer writes "
    "the source language there, so that the model learns to answer in the target language when it is asked "
    "for the source language.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/transformers/blob/v5.24.0/src/transformers/models/nllb/tokenization_nllb.py",
            "`if self.tgt_lang is None: self.tgt_lang = self._src_lang`; _src_lang is eng_Latn where it is "
            "not given.",
        ),
        Maintainer(
            "https://github.com/huggingface/transformers/issues/19943",
            "'NllbTokenizer/NllbTokenizerFast inserts language code incorrectly when tokenizing target text': "
            "the target is to be `<language code> <tokens> <eos>`.",
        ),
    ),
    fix=Fix("set `src_lang` and `tgt_lang`, and generate with `forced_bos_token_id` of the target language"),
    bad=Example(
        "train.py",
        "from transformers import AutoModelForSeq2SeqLM, AutoTokenizer, Seq2SeqTrainer, "
        "Seq2SeqTrainingArguments\n\n"
        'name = "facebook/nllb-200-distilled-600M"\n'
        'tokenizer = AutoTokenizer.from_pretrained("facebook/nllb-200-distilled-600M")\n'
        'model = AutoModelForSeq2SeqLM.from_pretrained("facebook/nllb-200-distilled-600M", dtype="float32")\n'
        'args = Seq2SeqTrainingArguments(output_dir="out", per_device_train_batch_size=8)\n'
        "Seq2SeqTrainer(model=model, args=args).train()\n",
    ),
    good=Example(
        "train.py",
        "from transformers import AutoModelForSeq2SeqLM, AutoTokenizer, Seq2SeqTrainer, "
        "Seq2SeqTrainingArguments\n\n"
        'tokenizer = AutoTokenizer.from_pretrained("facebook/nllb-200-distilled-600M", src_lang="eng_Latn", '
        'tgt_lang="deu_Latn")\n'
        'model = AutoModelForSeq2SeqLM.from_pretrained("facebook/nllb-200-distilled-600M", dtype="float32")\n'
        'args = Seq2SeqTrainingArguments(output_dir="out", per_device_train_batch_size=8)\n'
        "Seq2SeqTrainer(model=model, args=args).train()\n",
    ),
    aliases=("TT305",),
    symptoms=(
        "translates into the wrong language",
        "output is in another language",
        "outputs English",
        "BLEU near zero",
        "model answers in English instead of the target language",
        "NLLB or mBART writes the wrong language",
    ),
)

_TOKENIZERS = frozenset({"AutoTokenizer", "NllbTokenizer", "NllbTokenizerFast"})


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires in a script that trains and has the word `tgt_lang` nowhere."""
    if (
        run.document.syntax != "python"
        or "tgt_lang" in run.document.text
        or "target_lang" in run.document.text
    ):
        return
    if not any(calls_of(run, "Seq2SeqTrainer")):
        return
    for call in calls_of(run, "from_pretrained"):
        if (
            call.qualifier.rpartition(".")[2] in _TOKENIZERS
            and not call.has_rest
            and "nllb-200" in _name(call)
        ):
            source = call.arguments.get("src_lang")
            language = source.value if source is not None and isinstance(source.value, str) else "eng_Latn"
            yield RULE.at(call.place, language=language)
            return


def _name(call: Call) -> str:
    named = call.arguments.get("pretrained_model_name_or_path")
    first = named.value if named is not None else call.positional[0] if call.positional else ""
    return first if isinstance(first, str) else ""
