"""Did you mean: the word that an unknown one was meant to be, by what other tools call it, then by its letters."""

from collections.abc import Iterable
from difflib import SequenceMatcher
from functools import lru_cache

SAME_IDEA: tuple[frozenset[str], ...] = tuple(
    frozenset(names.split())
    for names in (
        "learning_rate lr",
        "lora_r lora_rank r rank",
        "lora_target_modules lora_target target_modules lora_layers",
        "lora_modules_to_save modules_to_save additional_target",
        "label_smoothing label_smoothing_factor",
        "micro_batch_size per_device_train_batch_size train_micro_batch_size_per_gpu",
        "eval_batch_size per_device_eval_batch_size valid_batch_size",
        "gradient_accumulation_steps accum_count accumulate_grad_batches grad_accum",
        "num_epochs num_train_epochs epochs",
        "max_steps train_steps max_updates",
        "sequence_len cutoff_len max_length max_seq_length max_seq_len",
        "optimizer optim",
        "lr_scheduler lr_scheduler_type decay_method scheduler",
        "adapter finetuning_type peft_type",
        "sample_packing packing",
        "eval_strategy evaluation_strategy",
        "eval_steps valid_steps",
        "save_steps save_checkpoint_steps",
        "save_total_limit keep_checkpoint",
        "max_grad_norm gradient_clipping grad_clip clip_grad_norm gradient_clip_val",
        "val_set_size val_size",
        "base_model model_name_or_path",
        "train_on_inputs train_on_prompt",
        "attn_implementation flash_attn",
        "activation_checkpointing gradient_checkpointing",
        "neftune_noise_alpha noisy_embedding_alpha",
        "dtype torch_dtype",
        "warmup_steps lr_warmup_steps num_warmup_steps",
    )
)
"""Names that tools have for one idea; no likeness of letters would find them."""

NEAR = 0.8
"""A likeness from which two words are probably one word and a slip."""


def nearest(word: str, allowed: Iterable[str], *, cutoff: float = NEAR) -> str:
    """The allowed word that was probably meant, empty where none is near."""
    words = list(allowed)
    for names in SAME_IDEA:
        if word.lower() in names:
            meant = [name for name in words if name in names]
            if meant:
                return meant[0]
    near = [candidate for candidate in words if _may_reach(word, candidate, cutoff)]
    best = max(near, key=lambda candidate: likeness(word, candidate), default="")
    return best if best and likeness(word, best) >= cutoff else ""


def likeness(one: str, other: str) -> float:
    """From 0 to 1; case, hyphens and underscores do not matter."""
    one, other = _plain(one), _plain(other)
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    return matcher.ratio() if matcher.real_quick_ratio() >= 0.5 else 0.0


def _may_reach(one: str, other: str, cutoff: float) -> bool:
    """Whether lengths and letters leave room for that likeness: seen at once, where likeness takes long."""
    one, other = _plain(one), _plain(other)
    enough = cutoff * (len(one) + len(other)) / 2
    if min(len(one), len(other)) < enough:
        return False
    letters, others = _letters(one), _letters(other)
    most = min(len(one) - (letters & ~others).bit_count(), len(other) - (others & ~letters).bit_count())
    return most >= enough


@lru_cache(maxsize=8192)
def _letters(text: str) -> int:
    """A set of characters as bits; those beyond ASCII share some, which makes words only more alike."""
    bits = 0
    for character in text:
        bits |= 1 << ord(character) % 128
    return bits


def _plain(text: str) -> str:
    return text.lower().replace("-", "_")
