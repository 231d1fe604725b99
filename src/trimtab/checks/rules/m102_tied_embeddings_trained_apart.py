"""M102 tied-embeddings-trained-apart"""

from collections.abc import Iterator

from trimtab.checks.adapter_names import EMBEDDINGS, HEADS, is_low_rank, names_in
from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule
from trimtab.checks.tied_models import is_tied

RULE = Rule(
    code="M102",
    name="tied-embeddings-trained-apart",
    severity="warning",
    message="{names} trained beside an adapter, but input and output embeddings of this model are one matrix",
    why="PEFT makes a copy or an adapter for each name, so that two matrices come out of what was one. While "
    "the config still says that they are tied, a merged model is tied again when it is loaded, with one of "
    "them thrown away: the output is nonsense or one token repeated.",
    evidence=(
        Maintainer(
            "https://github.com/huggingface/peft/issues/2777",
            '"If we merge it and load again using AutoModel.from_pretrained, it ties the embedding layer and '
            'the LM head. This results in nonsensical generations."',
        ),
        Maintainer(
            "https://github.com/huggingface/peft/pull/2803",
            "ensure_weight_tying trains one matrix for both (PEFT 0.18); it is off by default.",
        ),
        Maintainer(
            "https://github.com/huggingface/peft/issues/2864",
            "The table of what happens to tied weights in each case.",
        ),
    ),
    fix=Fix("set `{option}: true` (PEFT 0.18 or later), or leave the embeddings out of the adapter"),
    bad=Example(
        "adapter_config.json",
        '{"peft_type": "LORA", "base_model_name_or_path": "Qwen/Qwen2.5-0.5B", "r": 16, "lora_alpha": 16, '
        '"target_modules": ["q_proj", "v_proj", "up_proj", "down_proj"], "modules_to_save": ["embed_tokens", '
        '"lm_head"]}',
    ),
    good=Example(
        "adapter_config.json",
        '{"peft_type": "LORA", "base_model_name_or_path": "Qwen/Qwen2.5-0.5B", "r": 16, "lora_alpha": 16, '
        '"target_modules": ["q_proj", "v_proj", "up_proj", "down_proj"], "modules_to_save": ["embed_tokens", '
        '"lm_head"], "ensure_weight_tying": true}',
    ),
    aliases=("LORA002", "TT303"),
    tips=("S0-115", "S0-77"),
    symptoms=("worse after merge", "repeats the same words", "one token repeated", "nonsense after reload"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where the names are written and the model is known to be tied."""
    if not is_low_rank(run) or run.value("ensure_weight_tying") is True or not is_tied(run):
        return
    for concept in ("modules_to_save", "lora_targets"):
        setting = run.setting(concept)
        names = names_in(setting.value, EMBEDDINGS | HEADS) if setting is not None else []
        if setting is not None and names:
            option = "peft_ensure_weight_tying" if run.tool == "axolotl" else "ensure_weight_tying"
            said = f"{' and '.join(names)} {'is' if len(names) == 1 else 'are'}"
            yield RULE.at(setting, names=said, option=option)
            return
