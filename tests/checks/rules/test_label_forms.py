"""Labels as people make them: in the loop, in a dataset, a collator, a mapped function or a Trainer of one's own."""

from textwrap import indent

import pytest

from tests.checks.rules.findings import severities
from tests.for_each import for_each
from trimtab.checks.rules import (
    l113_labels_shifted_twice as l113,
)
from trimtab.checks.rules import (
    l114_labels_not_shifted as l114,
)
from trimtab.checks.rules import (
    l115_ignore_index_of_another_value as l115,
)
from trimtab.checks.rules import (
    l120_padding_in_the_loss as l120,
)

BEGIN = (
    "import torch\nimport torch.nn as nn\nimport torch.nn.functional as F\n"
    "from torch.utils.data import DataLoader, Dataset\n"
    "from transformers import AutoModelForCausalLM, AutoTokenizer, Trainer, TrainingArguments\n"
    'tokenizer = AutoTokenizer.from_pretrained("gpt2")\n'
)
LOADED = 'model = AutoModelForCausalLM.from_pretrained("gpt2")\n'
TRAINER = 'Trainer(model=model, args=TrainingArguments("out"), train_dataset=data).train()\n'


def looped(*lines, before=""):
    """A loop over batches, in a function, that makes a loss with these lines."""
    inside = indent("\n".join(lines), " " * 8)
    return (
        BEGIN
        + before
        + f"def main():\n    {LOADED}    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)\n"
        + "    model.train()\n"
        + f"    for batch in loader:\n{inside}\n        optimizer.zero_grad()\n        loss.backward()\n"
        + "        optimizer.step()\nmain()\n"
    )


def of_dataset(*lines):
    """A dataset whose items are made by these lines, for a Trainer."""
    inside = indent("\n".join(lines), " " * 8)
    return (
        BEGIN + "class Lines(Dataset):\n    def __init__(self, ids):\n        self.ids = ids\n"
        f"    def __getitem__(self, i):\n{inside}\ndata = Lines(ids)\n{LOADED}{TRAINER}"
    )


def mapped(*lines):
    """A function that `map` runs over the data of a Trainer."""
    inside = indent("\n".join(lines), " " * 4)
    return (
        f"{BEGIN}def tokenize(examples):\n{inside}\ndata = raw.map(tokenize, batched=True)\n{LOADED}{TRAINER}"
    )


def collated(inputs, labels):
    given = f'{{"input_ids": {inputs}, "labels": {labels}}}'
    before = f"def collate(items):\n    ids = torch.stack(items)\n    return {given}\n"
    before += "loader = DataLoader(data, batch_size=8, collate_fn=collate)\n"
    return looped("loss = model(**batch).loss", before=before)


def appended(first, second):
    return mapped(
        "ids, labels = [], []",
        'for x in examples["input_ids"]:',
        f"    ids.append({first})",
        f"    labels.append({second})",
        'return {"input_ids": ids, "labels": labels}',
    )


TWICE = [
    (
        of_dataset("x = torch.tensor(self.ids[i])", 'return {"input_ids": x[:-1], "labels": x[1:]}'),
        of_dataset("x = torch.tensor(self.ids[i])", 'return {"input_ids": x, "labels": x.clone()}'),
    ),
    (
        of_dataset("x = self.ids[i]", "return dict(input_ids=torch.tensor(x[:-1]), labels=torch.tensor(x[1:]))"),
        of_dataset("x = self.ids[i]", "return dict(input_ids=torch.tensor(x), labels=torch.tensor(x))"),
    ),
    (appended("x[:-1]", "x[1:]"), appended("x", "x")),
    (collated("ids[:, :-1].contiguous()", "ids[:, 1:].contiguous()"), collated("ids", "ids")),
    (
        looped(
            'ids = batch["input_ids"]', 'batch["input_ids"] = ids[:, :-1]', 'batch["labels"] = ids[:, 1:]',
            "loss = model(**batch).loss",
        ),
        looped('batch["labels"] = batch["input_ids"]', "loss = model(**batch).loss"),
    ),
    (
        looped('ids = batch["input_ids"]', "loss = model(input_ids=ids, labels=ids.roll(-1, dims=1)).loss"),
        looped('ids = batch["input_ids"]', "loss = model(input_ids=ids, labels=ids.clone()).loss"),
    ),
    (
        looped('ids = batch["input_ids"]', "loss = model(input_ids=ids, labels=torch.roll(ids, -1, 1)).loss"),
        looped('ids = batch["input_ids"]', "loss = model(input_ids=ids, labels=ids).loss"),
    ),
]  # fmt: skip


@for_each(("bad", "good"), TWICE)
def test_labels_are_shifted_once(bad, good):
    assert severities(l113, "train.py", bad) == ["error"]
    assert severities(l113, "train.py", good) == []


def test_a_shift_is_right_where_the_script_has_a_loss_of_its_own():
    bad, _ = TWICE[0]
    own = bad.replace(
        TRAINER, "logits = model(x).logits\nloss = F.cross_entropy(logits.flatten(0, 1), y.flatten())\n"
    )
    assert severities(l113, "train.py", own) == []
    assert severities(l113, "train.py", bad.replace("ForCausalLM", "ForSeq2SeqLM")) == []


def own_loss(logits, labels):
    return (
        f"{BEGIN}class Weighted(Trainer):\n"
        "    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):\n"
        '        labels = inputs.pop("labels")\n        outputs = model(**inputs)\n        logits = outputs.logits\n'
        f"        loss = nn.CrossEntropyLoss()({logits}.flatten(0, 1), {labels}.flatten())\n"
        f"        return (loss, outputs) if return_outputs else loss\n{LOADED}"
        + TRAINER.replace("Trainer(", "Weighted(")
    )


def own_model(inputs, labels):
    return (
        f"{BEGIN}class CausalLM(nn.Module):\n    def __init__(self, size):\n        super().__init__()\n"
        "        self.wte = nn.Embedding(size, 8)\n        self.lm_head = nn.Linear(8, size)\n"
        '        self.register_buffer("mask", torch.tril(torch.ones(64, 64)))\n'
        "    def forward(self, input_ids, labels=None):\n        logits = self.lm_head(self.wte(input_ids))\n"
        "        loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten())\n        return logits, loss\n"
        "model = CausalLM(100)\noptimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)\nfor batch in loader:\n"
        f"    logits, loss = model({inputs}, labels={labels})\n    optimizer.zero_grad()\n    loss.backward()\n"
        "    optimizer.step()\n"
    )


@pytest.mark.parametrize(
    ("bad", "good"),
    [
        (own_loss("logits", "labels"), own_loss("logits[:, :-1]", "labels[:, 1:]")),
        (
            own_model('batch["input_ids"]', 'batch["input_ids"]'),
            own_model('batch["input_ids"][:, :-1]', 'batch["input_ids"][:, 1:]'),
        ),
    ],
)
def test_logits_are_compared_with_the_next_token(bad, good):
    assert len(severities(l114, "train.py", bad)) == 1
    assert severities(l114, "train.py", good) == []


PADDED = 'out = tokenizer(self.ids[i], padding="max_length", max_length=64, return_tensors="pt")'


@pytest.mark.parametrize(
    ("bad", "good"),
    [
        (
            of_dataset(PADDED, 'ids = out["input_ids"].squeeze(0)', 'return {"input_ids": ids, "labels": ids.clone()}'),
            of_dataset(
                PADDED, 'ids = out["input_ids"].squeeze(0)', "labels = ids.clone()",
                'labels[out["attention_mask"][0] == 0] = -100', 'return {"input_ids": ids, "labels": labels}',
            ),
        ),
        (
            of_dataset(PADDED, 'return {"input_ids": out["input_ids"][0], "labels": out["input_ids"][0]}'),
            of_dataset(
                PADDED.replace('padding="max_length", ', ""),
                'return {"input_ids": out["input_ids"][0], "labels": out["input_ids"][0]}',
            ),
        ),
        (
            looped(
                'enc = tokenizer(batch["text"], return_tensors="pt", padding=True)',
                'loss = model(**enc, labels=enc["input_ids"]).loss',
            ),
            looped(
                'enc = tokenizer(batch["text"], return_tensors="pt", padding=True)',
                'labels = enc["input_ids"].masked_fill(enc["attention_mask"] == 0, -100)',
                "loss = model(**enc, labels=labels).loss",
            ),
        ),
    ],
)  # fmt: skip
def test_padding_is_no_label(bad, good):
    assert len(severities(l120, "train.py", bad)) == 1
    assert severities(l120, "train.py", good) == []


def test_the_loss_leaves_out_what_the_collator_writes():
    def of(index):
        before = (
            "from transformers import DataCollatorForLanguageModeling\n"
            "collator = DataCollatorForLanguageModeling(tokenizer, mlm=False)\n"
            f"loader = DataLoader(data, collate_fn=collator)\ncriterion = nn.CrossEntropyLoss({index})\n"
        )
        lines = (
            'logits = model(input_ids=batch["input_ids"]).logits[:, :-1]',
            'loss = criterion(logits.flatten(0, 1), batch["labels"][:, 1:].flatten())',
        )
        return looped(*lines, before=before)

    assert severities(l115, "train.py", of("ignore_index=tokenizer.pad_token_id")) == ["error"]
    assert severities(l115, "train.py", of("")) == []
