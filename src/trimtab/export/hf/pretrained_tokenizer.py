"""The tokenizer of a pretrained model beside its weights again: the very file that it came with."""

from pathlib import Path
from typing import Any

from trimtab.data.fast_tokenizer import FastTokenizer
from trimtab.export.plain_files import write_object
from trimtab.export.tokenizer_files import FAST

TEMPLATE = "chat_template.jinja"


def write_pretrained_tokenizer(tokenizer: FastTokenizer, folder: Path, *, window: int) -> None:
    """Writes `tokenizer.json` as it was, its settings, and the template of chats where there is one."""
    (folder / FAST).write_bytes(tokenizer.content)
    names = {"pad": "pad_token", "bos": "bos_token", "eos": "eos_token", "unk": "unk_token"}
    ids = {"pad": tokenizer.pad, "bos": tokenizer.start, "eos": tokenizer.end, "unk": tokenizer.unknown}
    settings: dict[str, Any] = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        **{names[key]: tokenizer.piece(id) for key, id in ids.items()},
        "model_max_length": window,
        "padding_side": "left",
        "clean_up_tokenization_spaces": False,
        "model_input_names": ["input_ids", "attention_mask"],
    }
    write_object(folder / "tokenizer_config.json", settings)
    if tokenizer.template:
        (folder / TEMPLATE).write_text(tokenizer.template, encoding="utf-8")
