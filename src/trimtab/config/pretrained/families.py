"""The families of pretrained models: what each is for, and whether the native decoder or a module of transformers
computes it. This is the one place where that is decided."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, cast

from trimtab.config.task_facts import facts_of
from trimtab.config.task_record import TASKS, Task, TaskFacts
from trimtab.errors import input_error

Tokens = Literal["ends", "begins and ends", "language first", "language last"]
"""The symbols around the pieces of a line: an end symbol after them; a start symbol before them as well; the code of
the language before them and the end symbol after; or the end symbol and then the code, as mBART 25 reads a source."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """What is known of the models of one `model_type`."""

    task: Task
    """The task of recipes that they are for."""
    class_name: str | None = None
    """The class of transformers that computes them; None for the native decoder."""
    tokens: Tokens = "ends"
    """The symbols around the pieces of a line."""
    dropout: str = "dropout"
    """The setting of `config.json` that `model.dropout` stands for."""
    window: str | None = "max_position_embeddings"
    """The setting that bounds the length of a text; None where nothing does, as with relative positions."""
    reserved_positions: int = 0
    """Positions of the window that no token has: those up to the padding id, which RoBERTa counts on from."""
    tied: bool = True
    """Whether embeddings and output share a matrix where the settings do not say."""
    logit_cap: float | None = None
    """The bound of the logits where the settings do not say, see `TransformersModel.logit_cap`."""

    @property
    def facts(self) -> TaskFacts:
        """What their task decides."""
        return facts_of(self.task)


NATIVE = Family(task="language_model")
MBART = Family(task="translation", class_name="MBartForConditionalGeneration", tokens="language first")


def _decoder(
    class_name: str,
    *,
    dropout: str = "attention_dropout",
    window: str = "max_position_embeddings",
    tied: bool = True,
    logit_cap: float | None = None,
) -> Family:
    return Family(
        task="language_model",
        class_name=class_name,
        dropout=dropout,
        window=window,
        tied=tied,
        logit_cap=logit_cap,
    )


def _t5(class_name: str) -> Family:
    return Family(task="translation", class_name=class_name, dropout="dropout_rate", window=None)


def _bert(class_name: str, *, dropout: str = "hidden_dropout_prob", reserved_positions: int = 0) -> Family:
    return Family(
        task="classification",
        class_name=class_name,
        tokens="begins and ends",
        dropout=dropout,
        reserved_positions=reserved_positions,
    )


FAMILIES: Mapping[str, Family] = {
    "llama": NATIVE,
    "mistral": NATIVE,
    "qwen2": NATIVE,
    "qwen3": NATIVE,
    "gpt2": _decoder("GPT2LMHeadModel", dropout="resid_pdrop", window="n_positions"),
    "gemma": _decoder("GemmaForCausalLM"),
    "gemma2": _decoder("Gemma2ForCausalLM", logit_cap=30.0),
    "gemma3_text": _decoder("Gemma3ForCausalLM"),
    "phi": _decoder("PhiForCausalLM", dropout="resid_pdrop", tied=False),
    "phi3": _decoder("Phi3ForCausalLM", dropout="resid_pdrop", tied=False),
    "gpt_neox": _decoder("GPTNeoXForCausalLM", dropout="hidden_dropout", tied=False),
    "opt": _decoder("OPTForCausalLM", dropout="dropout"),
    "smollm3": _decoder("SmolLM3ForCausalLM"),
    "olmo2": _decoder("Olmo2ForCausalLM", tied=False),
    "starcoder2": _decoder("Starcoder2ForCausalLM", dropout="residual_dropout"),
    "marian": Family(task="translation", class_name="MarianMTModel"),
    "pegasus": Family(task="translation", class_name="PegasusForConditionalGeneration"),
    "m2m_100": Family(
        task="translation", class_name="M2M100ForConditionalGeneration", tokens="language first"
    ),
    "mbart": MBART,
    "bart": Family(task="translation", class_name="BartForConditionalGeneration", tokens="begins and ends"),
    "t5": _t5("T5ForConditionalGeneration"),
    "mt5": _t5("MT5ForConditionalGeneration"),
    "umt5": _t5("UMT5ForConditionalGeneration"),
    "vision-encoder-decoder": Family(
        task="recognition", class_name="VisionEncoderDecoderModel", dropout="decoder.dropout"
    ),
    "bert": _bert("BertForSequenceClassification"),
    "roberta": _bert("RobertaForSequenceClassification", reserved_positions=2),
    "xlm-roberta": _bert("XLMRobertaForSequenceClassification", reserved_positions=2),
    "distilbert": _bert("DistilBertForSequenceClassification", dropout="dropout"),
}
"""By the `model_type` of config.json."""


def family_of(settings: Mapping[str, Any], *, task: str, name: str) -> Family:
    """The family of the settings in a `config.json`; `name` is for messages. Raises InputError for one that is not
    supported, that is for another task, or that brings code of its own."""
    kind = str(settings.get("model_type"))
    if settings.get("auto_map"):
        raise input_error(
            f"{name}: this model brings code of its own, which trimtab never executes",
            got="auto_map in config.json",
            allowed="a model that transformers computes by itself",
            fix="take another model, or one that its authors have converted",
        )
    family = FAMILIES.get(kind)
    if family is None:
        raise input_error(
            f"{name}: models of this family are not supported",
            got=classes_of(settings) or f"model_type {kind}",
            allowed=f"{known}, with task {task}" if (known := _known_of(task)) else ", ".join(FAMILIES),
            fix="take a model of one of these families",
        )
    check_task(family, kind, task=task, name=name)
    return family


def classes_of(settings: Mapping[str, Any]) -> str:
    """The classes of transformers that `config.json` names, for messages."""
    named: Any = settings.get("architectures") or []
    return ", ".join(map(str, cast("list[Any]", named))) if isinstance(named, list) else str(named)[:80]


def check_task(family: Family, kind: str, *, task: str, name: str) -> None:
    """Raises InputError where a model of this family is not for the task of the recipe; what is no task is left for
    others to complain of. `kind` and `name` are for messages."""
    if task in TASKS and family.task != task:
        known = _known_of(task)
        raise input_error(
            f"{name}: a {kind} model is for another task",
            got=f"task: {task}",
            allowed=f"task: {family.task}" + (f"; with task {task}, {known}" if known else ""),
            fix=f"set `task: {family.task}`"
            + (
                ", or take a model of one of these families"
                if known
                else f"; task {task} starts from no model"
            ),
        )


def _known_of(task: str) -> str:
    return facts_of(task).pretrained if task in TASKS else ""
