"""M130 adapter-on-embeddings"""

from collections.abc import Iterator

from trimtab.checks.adapter_names import EMBEDDINGS, HEADS, is_low_rank, names_in
from trimtab.checks.description import Description
from trimtab.checks.evidence import Folklore, Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule
from trimtab.checks.tied_models import is_tied

_CONFIG = (
    '{{"peft_type": "LORA", "base_model_name_or_path": "meta-llama/Llama-2-7b-hf", "r": 64, "lora_alpha": 64, '
    '"target_modules": ["q_proj", "k_proj", "v_proj", "o_proj", "up_proj", "down_proj"{more}]}}'
)

RULE = Rule(
    code="M130",
    name="adapter-on-embeddings",
    severity="note",
    message="a low-rank adapter targets {names}: each checkpoint also stores the whole matrices",
    why="A row of the vocabulary is one token. A low-rank change moves all rows along a few directions, so that tokens "
    "which are never seen in training move with the others. PEFT stores the base model's embeddings beside an adapter "
    "that targets them, so that the adapter is no longer small.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/trl/issues/1287",
            '"the default behaviour in PEFT is to save the embedding layers of the base model when they are part of '
            'target modules".',
        ),
        Maintainer(
            "https://github.com/huggingface/peft/issues/3585",
            'With `save_embedding_layers="auto"` names with a path, such as `model.embed_tokens`, are not recognised '
            "when the adapter is saved.",
        ),
        Maintainer(
            "https://github.com/huggingface/peft/issues/1689",
            'Of embeddings in `target_modules`: "It\'s hard to say in general but it can work"; of `modules_to_save`: '
            '"This requires more memory but will probably work the best."',
        ),
        Folklore("LoRA on the input embeddings occasionally gave unrelated output (practitioner's notes)."),
    ),
    fix=Fix(
        "leave the embeddings out, or train them whole (`modules_to_save`) or by rows (`trainable_token_indices`)"
    ),
    bad=Example("adapter_config.json", _CONFIG.format(more=', "embed_tokens", "lm_head"')),
    good=Example("adapter_config.json", _CONFIG.format(more="")),
    tips=("S0-115",),
    symptoms=("unrelated output after LoRA", "adapter checkpoint is very large", "worse after merge"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires for input embeddings among the targets; M102 speaks where both ends are known to be one matrix."""
    targets = run.setting("lora_targets")
    if targets is None or not targets.is_written or not is_low_rank(run) or is_tied(run):
        return
    if names_in(targets.value, EMBEDDINGS):
        yield RULE.at(targets, names=" and ".join(names_in(targets.value, EMBEDDINGS | HEADS)))
