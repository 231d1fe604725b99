"""Did you mean: the word that an unknown one was meant to be, by what other tools call it, then by its letters."""

from collections.abc import Iterable, Iterator
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
    """The allowed word that was probably meant, empty if none is near."""
    words = list(allowed)
    for names in SAME_IDEA:
        if word.lower() in names:
            meant = [name for name in words if name in names]
            if meant:
                return meant[0]
    best = max(
        _within_reach(word, words, cutoff), key=lambda candidate: likeness(word, candidate), default=""
    )
    return best if best and likeness(word, best) >= cutoff else _reordered(word, words)


def _reordered(word: str, words: Iterable[str]) -> str:
    """The one with the same parts in another order: `latency-weight-avg` is `latency-avg-weight`."""
    parts = sorted(_plain(word).split("_"))
    if len(parts) < 2:
        return ""
    return next((each for each in words if sorted(_plain(each).split("_")) == parts), "")


def likeness(one: str, other: str) -> float:
    """From 0 to 1; case, hyphens and underscores do not matter, and two neighbours that changed places are one slip."""
    from difflib import SequenceMatcher  # late: few files need it

    one, other = _plain(one), _plain(other)
    if _is_swapped(one, other):
        return 1 - 1 / (2 * len(one))
    matcher = SequenceMatcher(None, one, other, autojunk=False)
    return matcher.ratio() if matcher.real_quick_ratio() >= 0.5 else 0.0


def _is_swapped(one: str, other: str) -> bool:
    """Whether they differ by one pair of neighbours; two letters alone are as likely two words."""
    if len(one) != len(other) or len(one) < 3:
        return False
    apart = [at for at, (left, right) in enumerate(zip(one, other, strict=True)) if left != right]
    if len(apart) != 2 or apart[1] - apart[0] != 1:
        return False
    first, second = apart
    return one[first] == other[second] and one[second] == other[first]


def _within_reach(word: str, words: Iterable[str], cutoff: float) -> Iterator[str]:
    """Those whose lengths and letters leave room for the likeness: seen at once, where likeness takes long."""
    length, letters = _shape(word)
    for each in words:
        its_length, its_letters = _shape(each)
        enough = cutoff * (length + its_length) / 2
        if length < enough or its_length < enough:
            continue
        missing, added = (letters & ~its_letters).bit_count(), (its_letters & ~letters).bit_count()
        if length - missing >= enough and its_length - added >= enough:
            yield each


@lru_cache(maxsize=4096)
def _shape(text: str) -> tuple[int, int]:
    """Length and set of letters, as bits; those beyond ASCII share some, which makes words only more alike."""
    bits = 0
    plain = _plain(text)
    for letter in plain:
        bits |= 1 << ord(letter) % 128
    return len(plain), bits


def _plain(text: str) -> str:
    return text.lower().replace("-", "_")
