"""M101 new-tokens-not-trained"""

from collections.abc import Iterator
from typing import Any

from trimtab.checks.adapter_names import EMBEDDINGS, HEADS, is_low_rank, names_in
from trimtab.checks.description import Description
from trimtab.checks.evidence import Maintainer
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule
from trimtab.checks.setting import Setting
from trimtab.finding import Severity

RULE = Rule(
    code="M101",
    name="new-tokens-not-trained",
    severity="error",
    message="{count} added ({names}), and the adapter trains no embeddings: {result}",
    why="A new token gets a row of the embedding table that no text has ever shaped. An adapter leaves the "
    "table as it is, so that the row stays at its start, at the input and at the output: the model can "
    "neither read nor write the token.",
    evidence=(
        Maintainer(
            "https://github.com/axolotl-ai-cloud/axolotl/blob/067b021/src/axolotl/loaders/utils.py",
            'check_model_config: "`lora_modules_to_save` not properly set when adding new tokens" is raised '
            "where an adapter "
            "is trained, `tokens` are given and both embeddings are not among the modules.",
        ),
        Maintainer(
            "https://github.com/hiyouga/LLaMA-Factory/blob/ff6d4d1/src/llamafactory/model/adapter.py",
            "The embeddings are added to the trained modules where the vocabulary was resized, but only "
            "where additional_target is not set.",
        ),
        Maintainer(
            "https://github.com/huggingface/peft/issues/2864",
            "PEFT's ways to train embeddings: modules_to_save, target_modules and trainable_token_indices; "
            "without one of them they are frozen.",
        ),
    ),
    fix=Fix("{way}"),
    bad=Example(
        "lora.yaml",
        "base_model: meta-llama/Llama-3.1-8B\ndatasets:\n  - path: tatsu-lab/alpaca\n    type: "
        "alpaca\noutput_dir: out\nsequence_len: 2048\nmicro_batch_size: 2\ngradient_accumulation_steps: "
        "4\nnum_epochs: 1\noptimizer: adamw_torch\n"
        "learning_rate: 2e-4\nadapter: lora\nlora_r: 16\nlora_alpha: 32\nlora_target_linear: true\ntokens: "
        '["<source>", "<target>"]\n',
    ),
    good=Example(
        "lora.yaml",
        "base_model: meta-llama/Llama-3.1-8B\ndatasets:\n  - path: tatsu-lab/alpaca\n    type: "
        "alpaca\noutput_dir: out\nsequence_len: 2048\nmicro_batch_size: 2\ngradient_accumulation_steps: "
        "4\nnum_epochs: 1\noptimizer: adamw_torch\n"
        "learning_rate: 2e-4\nadapter: lora\nlora_r: 16\nlora_alpha: 32\nlora_target_linear: true\ntokens: "
        '["<source>", "<target>"]\nlora_modules_to_save: [embed_tokens, lm_head]\n',
    ),
    aliases=("LORA001", "TT302"),
    tips=("S0-76", "S0-77", "S0-90"),
    symptoms=(
        "new tokens are never generated",
        "model ignores the new tokens",
        "does not stop",
        "size mismatch",
        "added tokens are never predicted",
        "new special tokens are never generated after LoRA",
        "added tokens are ignored by the fine-tuned model",
    ),
)

_CHATML = frozenset({"<|im_start|>", "<|im_end|>"})
_WITHOUT_CHATML = frozenset(
    {"llama", "mistral", "mixtral", "gemma", "gemma2", "gpt2", "gpt_neox", "opt", "phi3"}
)
"""Families whose published vocabularies have no ChatML tokens."""
SHOWN = 3
"""How many of many tokens are named."""
_WAY = 'set `modules_to_save=["embed_tokens", "lm_head"]`, or `trainable_token_indices` to train the new rows alone'


def check(run: Description) -> Iterator[Diagnosis]:
    """Fires where the tool is known to leave the rows untrained; tokens that may be known already are left out."""
    tokens = run.setting("added_tokens")
    if tokens is None or not is_low_rank(run):
        return
    news = [token for token in tokens.value if isinstance(token, str) and "pad" not in token.lower()]
    if not news:
        return
    if run.tool == "axolotl":
        yield from _axolotl(run, tokens, news)
    elif run.tool == "llamafactory":
        saved = run.setting("modules_to_save")
        if saved is not None and saved.value and not _trains_embeddings(run):
            yield _found(
                saved, news, "their rows stay as they start", "add the embeddings to `additional_target`"
            )
    elif run.value("frozen_embeddings") is True and _is_resized(run):
        yield _found(tokens, news, "their rows stay as they start", _WAY)
    elif run.value("frozen_embeddings") is True and run.kind == "peft-adapter":
        # The tokenizer has them and the model beside has no row for them: nobody has seen how the table was enlarged.
        where = run.written("modules_to_save") or run.written("target_modules")
        result = "config.json has no rows for them, and those of an enlarged table stay as they start"
        if where is not None:
            yield _found(where, news, result, _WAY, severity="warning")


def _axolotl(run: Description, tokens: Setting, news: list[str]) -> Iterator[Diagnosis]:
    saved: list[Any] = run.value("modules_to_save") or []
    way = "set `lora_modules_to_save: [embed_tokens, lm_head]`"
    if run.written("tokens") is not None:
        if not (names_in(saved, EMBEDDINGS) and names_in(saved, HEADS)):
            yield _found(tokens, news, "Axolotl refuses to start", way)
        return
    chatml = [token for token in news if token in _CHATML]
    if chatml and run.value("model_family") in _WITHOUT_CHATML and run.value("frozen_embeddings") is True:
        yield _found(tokens, chatml, "their rows stay as they start", way, severity="warning")


def _found(
    where: Setting, news: list[str], result: str, way: str, *, severity: Severity | None = None
) -> Diagnosis:
    count = f"{len(news)} tokens are" if len(news) > 1 else "1 token is"
    names = ", ".join((*news[:SHOWN], *(["..."] if len(news) > SHOWN else [])))
    return RULE.at(where, severity=severity, count=count, names=names, result=result, way=way)


def _trains_embeddings(run: Description) -> bool:
    saved: list[Any] = run.value("modules_to_save") or []
    targets: list[Any] = run.value("lora_targets") or []
    return bool(names_in([*saved, *targets], EMBEDDINGS)) or run.value("trainable_token_indices") is True


def _is_resized(run: Description) -> bool:
    return any(call.name == "resize_token_embeddings" for call in run.document.calls)
