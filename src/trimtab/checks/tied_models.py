"""Whether a run's model has one matrix for its input and its output embeddings."""

import re

from trimtab.checks.description import Description

_TIED = (
    r"(?i)(llama-3\.2-[13]b|qwen2-(0\.5|1\.5)b|qwen2\.5-(0\.5|1\.5|3)b|qwen3-(0\.6|1\.7|4)b|"
    r"smollm2?-\d|gemma-|^t5-(small|base|large|3b|11b)$)"
)
"""By the `tie_word_embeddings` of the published config.json of these models."""
_TIED_FAMILIES = frozenset(
    {"gemma", "gemma2", "gemma3_text", "gpt2", "opt", "bloom", "marian", "m2m_100", "mbart"}
)


def is_tied(run: Description) -> bool:
    """True where a config.json beside says so, or a published model's name does; False where it is not known."""
    told = run.value("tied_embeddings")
    if told is not None:
        return told
    name = run.value("model_name") or ""
    return (
        run.value("model_family") in _TIED_FAMILIES or re.search(_TIED, name.rpartition("/")[2]) is not None
    )
