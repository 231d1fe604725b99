"""D113 chat-template-of-untrained-tokens"""

import re
from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.own_key import own_value
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_BASE = r"(?i)(^|/)(Meta-)?Llama-3(\.1)?-(8|70|405)B$"
_TEMPLATES = frozenset({"llama3", "llama-3"})
_YAML = (
    "base_model: NousResearch/Meta-Llama-3.1-8B{instruct}\nmicro_batch_size: 2\n"
    "gradient_accumulation_steps: 4\nadapter: lora\nlora_r: 16\nlora_alpha: 32\nlora_target_linear: true\n"
    "learning_rate: 0.0002\nchat_template: llama3\ndatasets:\n  - path: data.jsonl\n"
    "    type: chat_template\n"
)

RULE = Rule(
    code="D113",
    name="chat-template-of-untrained-tokens",
    severity="warning",
    message="{model} is a base model: the tokens of its chat template were never trained, and an adapter "
    "leaves them so",
    why="`<|start_header_id|>`, `<|end_header_id|>` and `<|eot_id|>` were only used from the Instruct models "
    "on. With the embeddings frozen they stay what chance left there: turns are not told apart, and the end "
    "of a turn is not found.",
    evidence=(
        Maintainer(
            "https://github.com/unslothai/unsloth/issues/915",
            "With the base model the output has `<|reserved_special_token_0|>` in place of the template's "
            "tokens; the maintainer: 'those tokens are actually untrained, so you will get incorrect "
            "finetuning results'.",
        ),
        Maintainer(
            "https://github.com/axolotl-ai-cloud/axolotl/pull/1771",
            "`fix_untrained_tokens`: reserved tokens in a chat template gave an infinite gradient norm.",
        ),
    ),
    fix=Fix(
        "start from the Instruct model, or train the embeddings too (Axolotl: `lora_modules_to_save: "
        "[embed_tokens, lm_head]`), or use a template without special tokens"
    ),
    bad=Example("axolotl.yaml", _YAML.format(instruct="")),
    good=Example("axolotl.yaml", _YAML.format(instruct="-Instruct")),
    tips=("S0-76",),
    symptoms=("does not stop", "writes reserved tokens", "gradient norm is inf"),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires for an adapter that trains neither rows nor the whole of the embeddings."""
    name, template = run.setting("model_name"), run.value("chat_template")
    if run.tool == "llamafactory":
        template = own_value(run, "template")
    if name is None or str(template) not in _TEMPLATES or not re.search(_BASE, name.value.rstrip("/")):
        return
    if run.value("adapter") not in ("lora", "qlora") or own_value(run, "fix_untrained_tokens"):
        return
    saved: list[object] = [*(run.value("modules_to_save") or []), *(run.value("lora_targets") or [])]
    if run.value("trainable_token_indices") or any("embed" in str(module) for module in saved):
        return
    yield RULE.at(name, model=name.value)
