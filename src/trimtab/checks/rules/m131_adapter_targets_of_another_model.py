"""M131 adapter-targets-of-another-model"""

from collections.abc import Iterator

from trimtab.checks.adapter_names import is_low_rank, last_part
from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "from peft import LoraConfig, get_peft_model\nfrom transformers import AutoModelForCausalLM, Trainer\n"
    "model = AutoModelForCausalLM.from_pretrained('gpt2')\n"
    "model = get_peft_model(model, LoraConfig(r=8, lora_alpha=16, target_modules=[{targets}]))\n"
    "Trainer(model=model, train_dataset=data).train()\n"
)

RULE = Rule(
    code="M131",
    name="adapter-targets-of-another-model",
    severity="error",
    message="no module of {family} is called {names}: PEFT raises ValueError",
    why="Each architecture has its own module names. PEFT looks for modules whose names end with one of the "
    "targets, and raises an error if it finds none.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/peft/blob/v0.21.2/src/peft/tuners/tuners_utils.py",
            "'Target modules {...} not found in the base model. Please check the target modules and try again.'",
        ),
    ),
    fix=Fix('use names of this architecture, such as {right}, or `target_modules="all-linear"`'),
    bad=Example("train.py", _SCRIPT.format(targets="'q_proj', 'v_proj'")),
    good=Example("train.py", _SCRIPT.format(targets="'c_attn', 'c_fc', 'c_proj'")),
    symptoms=("Target modules not found in the base model", "Please check the target modules and try again"),
)
_LLAMA = (
    "q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj", "embed_tokens", "lm_head",
)  # fmt: skip
_BERT = (
    "query", "key", "value", "dense", "word_embeddings", "position_embeddings", "token_type_embeddings", "pooler",
    "decoder", "seq_relationship",
)  # fmt: skip
_BART = (
    "q_proj",
    "k_proj",
    "v_proj",
    "out_proj",
    "fc1",
    "fc2",
    "shared",
    "embed_tokens",
    "embed_positions",
    "lm_head",
)
_T5 = (
    "q",
    "k",
    "v",
    "o",
    "wi",
    "wi_0",
    "wi_1",
    "wo",
    "shared",
    "embed_tokens",
    "lm_head",
    "relative_attention_bias",
)
_NEOX = ("query_key_value", "dense", "dense_h_to_4h", "dense_4h_to_h")
_HEADS = frozenset({"score", "classifier", "qa_outputs", "projector", "summary"})
"""Parts of heads that a class for another task puts on the same model."""
_NAMES = {
    "gpt2": ("c_attn", "c_proj", "c_fc", "wte", "wpe", "lm_head"),
    "gptj": ("q_proj", "k_proj", "v_proj", "out_proj", "fc_in", "fc_out", "wte", "lm_head"),
    "gpt_neox": (*_NEOX, "embed_in", "embed_out", "lm_head"),
    "bloom": (*_NEOX, "word_embeddings", "lm_head"),
    "falcon": (*_NEOX, "word_embeddings", "lm_head"),
    "llama": _LLAMA,
    "mistral": _LLAMA,
    "qwen2": _LLAMA,
    "qwen3": _LLAMA,
    "gemma": _LLAMA,
    "gemma2": _LLAMA,
    "phi": ("q_proj", "k_proj", "v_proj", "dense", "fc1", "fc2", "embed_tokens", "lm_head"),
    "phi3": ("qkv_proj", "o_proj", "gate_up_proj", "down_proj", "embed_tokens", "lm_head"),
    "opt": (*_BART, "project_in", "project_out"),
    "bart": (*_BART, "dense"),
    "mbart": (*_BART, "dense"),
    "marian": _BART,
    "m2m_100": _BART,
    "pegasus": _BART,
    "whisper": (*_BART, "proj_out", "conv1", "conv2"),
    "t5": (*_T5, "dense", "out_proj"),
    "mt5": (*_T5, "dense", "out_proj"),
    "bert": _BERT,
    "roberta": (*_BERT, "out_proj"),
    "xlm-roberta": (*_BERT, "out_proj"),
}
"""Last parts of the names of linear, convolutional and embedding modules, by family: those of all its classes in
transformers 5.24.0, and `embed_out` of transformers 4."""


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where the family is known by the model's name and none of the targets is one of its modules; a warning
    where the name is the default of an option."""
    targets, model = run.setting("lora_targets"), run.setting("model_family")
    if targets is None or model is None or not is_low_rank(run) or not targets.value:
        return
    known = _NAMES.get(str(model.value))
    names = [each for each in targets.value if isinstance(each, str)]
    if known is None or names == ["all-linear"] or len(names) != len(targets.value):
        return
    parts = {last_part(name) for name in names}
    if not parts & {*known, *_HEADS} and not any(part.isdigit() for part in parts):
        yield RULE.at(
            targets,
            severity="warning" if model.is_option else None,
            family=model.value,
            names=" or ".join(names),
            right=f'"{known[0]}"',
        )
