"""Loss scaling and autocast in hand-made loops, and padding in hand-made losses."""

from tests.checks.rules.findings import severities
from tests.for_each import for_each
from trimtab.checks.rules import (
    l114_labels_not_shifted,
    l120_padding_in_the_loss,
    s315_scaler_without_autocast,
    s316_fp16_autocast_without_scaler,
)

HEAD = """\
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader
"""


def said(rule, text):
    return severities(rule, "train.py", text)


SCALED = (
    HEAD
    + "model = nn.Linear(8, 2)\noptimizer = torch.optim.AdamW(model.parameters())\nscaler = {scaler}\n"
    + "for x, y in loader:\n    optimizer.zero_grad()\n    loss = F.cross_entropy(model(x), y)\n{steps}"
)
STEPS = "    scaler.scale(loss).backward()\n    scaler.step(optimizer)\n    scaler.update()\n"


@for_each(
    ("scaler", "steps", "told"),
    [
        ("torch.cuda.amp.GradScaler()", STEPS, ["warning"]),
        ("torch.amp.GradScaler('cuda')", STEPS, ["warning"]),
        ("torch.cuda.amp.GradScaler(enabled=args.amp)", STEPS, ["warning"]),
        ("torch.amp.GradScaler(init_scale=1024.0)", STEPS, ["warning"]),
        ("torch.amp.GradScaler(growth_interval=100)", STEPS + "    print(loss)\n", ["warning"]),
        ("torch.cuda.amp.GradScaler(enabled=False)", STEPS, []),
        ("torch.amp.GradScaler()", STEPS + "with torch.autocast('cuda'):\n    pass\n", []),
        ("torch.amp.GradScaler()", STEPS + "model.half()\n", []),
        ("torch.amp.GradScaler()", "    loss.backward()\n    optimizer.step()\n", []),
        ("make_scaler()", STEPS, []),
    ],
)  # fmt: skip
def test_a_scaled_loss_needs_half_precision(scaler, steps, told):
    assert said(s315_scaler_without_autocast, SCALED.format(scaler=scaler, steps=steps)) == told


CAST = (
    HEAD
    + "model = nn.Linear(8, 2)\noptimizer = torch.optim.AdamW(model.parameters())\nfor x, y in loader:\n"
    + "    optimizer.zero_grad()\n    with {context}:\n        loss = F.cross_entropy(model(x), y)\n"
    + "    {backward}\n    optimizer.step()\n"
)


@for_each(
    ("context", "backward", "told"),
    [
        ("torch.autocast('cuda', dtype=torch.float16)", "loss.backward()", ["warning"]),
        ("torch.cuda.amp.autocast()", "loss.backward()", ["warning"]),
        ("torch.autocast('cuda')", "loss.backward()", ["warning"]),
        ("torch.autocast(device_type='cuda', dtype=torch.half)", "loss.backward()", ["warning"]),
        ("torch.amp.autocast('cuda:0', torch.float16)", "loss.backward()", ["warning"]),
        ("torch.autocast('cuda', dtype=torch.bfloat16)", "loss.backward()", []),
        ("torch.autocast('cpu')", "loss.backward()", []),
        ("torch.autocast(device, dtype=torch.float16)", "loss.backward()", []),
        ("torch.cuda.amp.autocast(enabled=False)", "loss.backward()", []),
        ("torch.autocast('cuda', dtype=dtype)", "loss.backward()", []),
        ("torch.autocast('cuda', dtype=torch.float16)", "torch.amp.GradScaler().scale(loss).backward()", []),
        ("torch.autocast('cuda', dtype=torch.float16)", "(loss * loss_scale).backward()", []),
    ],
)
def test_fp16_needs_a_scaled_loss(context, backward, told):
    text = CAST.format(context=context, backward=backward)
    assert said(s316_fp16_autocast_without_scaler, text) == told


COLLATED = (
    HEAD
    + "PAD = 0\ndef collate(rows):\n    source, target = zip(*rows)\n    {returned}\n"
    + "loader = DataLoader(data, batch_size=8, collate_fn=collate)\nmodel = nn.Transformer(512)\n"
    + "optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)\ncriterion = nn.CrossEntropyLoss({given})\n"
    + "for {batch} in loader:\n    loss = criterion(model(source).reshape(-1, 90), {target})\n"
    + "    optimizer.zero_grad()\n    loss.backward()\n    optimizer.step()\n"
)
MAPPED = "return {'source': pad_sequence(source), 'target': pad_sequence(target, True, 1)}"
PAIR = "return pad_sequence(source), pad_sequence(target)"


def collated(returned=PAIR, given="", batch="source, target", target="target[1:].reshape(-1)"):
    return COLLATED.format(returned=returned, given=given, batch=batch, target=target)


@for_each(
    ("text", "told"),
    [
        (collated(), ["warning"]),
        (collated(PAIR.replace("(target)", "(target, padding_value=PAD)")), ["warning"]),
        (collated(target="target.view(-1)"), ["warning"]),
        (collated(given="label_smoothing=0.1"), ["warning"]),
        (collated(MAPPED, batch="batch", target="batch['target'][:, 1:].flatten()"), ["warning"]),
        (collated(given="ignore_index=PAD"), []),
        (collated(PAIR.replace("(target)", "(target, padding_value=-100)")), []),
        (collated("return pad_sequence(source), torch.tensor(target)"), []),
        (collated(given="reduction='none'"), []),
        (collated(target="labels"), []),
    ],
)  # fmt: skip
def test_padding_of_the_scripts_own_collation_counts(text, told):
    assert said(l120_padding_in_the_loss, text) == told


LOADED = (
    "from transformers import AutoModelForCausalLM, AutoTokenizer\ntokenizer = AutoTokenizer.from_pretrained('gpt2')\n"
    "model = AutoModelForCausalLM.from_pretrained('gpt2')\n"
)
COPY = (
    LOADED
    + "def encode(rows):\n    batch = tokenizer(rows['text'], padding={padding})\n    {labels}\n    return batch\n"
)
DIRECT = (
    LOADED
    + "for text in texts:\n    batch = tokenizer(text, return_tensors='pt', padding={padding}){to}\n"
    + "    loss = model({call}).loss\n    loss.backward()\n"
)


def copied(labels="batch['labels'] = batch['input_ids'].copy()", padding="'max_length'"):
    return COPY.format(labels=labels, padding=padding)


def direct(call="**batch, labels=batch['input_ids']", padding="True", to=""):
    call = call.replace("**batch", "input_ids=batch['input_ids'], attention_mask=batch['attention_mask']")
    return DIRECT.format(call=call, padding=padding, to=to)


@for_each(
    ("text", "told"),
    [
        (copied(), ["warning"]),
        (copied("batch['labels'] = batch['input_ids']", "True"), ["warning"]),
        (copied("batch['labels'] = list(batch['input_ids'])", "'longest'"), ["warning"]),
        (direct(), ["warning"]),
        (direct(to=".to('cuda')"), ["warning"]),
        (
            direct("batch.input_ids, attention_mask=batch.attention_mask, labels=batch.input_ids.clone()"),
            ["warning"],
        ),
        (copied(padding="False"), []),
        (copied("batch['labels'] = rows['label']"), []),
        (copied() + "labels[labels == 0] = -100\n", []),
        (copied() + "collator = DataCollatorForLanguageModeling(tokenizer, mlm=False)\n", []),
        (direct(padding="False"), []),
        (direct("**batch, labels=labels"), []),
    ],
)
def test_labels_that_are_padded_ids_count_padding(text, told):
    assert said(l120_padding_in_the_loss, text) == told


AVERAGED = HEAD + "def loss_of(logits, labels, mask):\n    loss = {loss}\n    return {mean}\n"
EACH = "F.cross_entropy(logits.view(-1, 9), labels.view(-1), reduction='none', ignore_index=0)"


@for_each(
    ("mean", "told"),
    [
        ("(loss * mask).mean()", ["warning"]),
        ("(mask * loss).mean()", ["warning"]),
        ("(loss.view(8, -1) * mask.float()).mean()", ["warning"]),
        ("torch.relu((loss * mask.view(-1)).mean())", ["warning"]),
        ("(loss * mask).mean() / 2", ["warning"]),
        ("(loss * mask).sum() / mask.sum()", []),
        ("(loss * weights).mean()", []),
        ("loss.mean()", []),
        ("(loss * mask).mean(1)", []),
    ],
)
def test_a_masked_loss_is_divided_by_what_is_left(mean, told):
    assert said(l120_padding_in_the_loss, AVERAGED.format(loss=EACH, mean=mean)) == told


MODELS = (
    HEAD
    + """
class {name}(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = body()
        self.lm_head = nn.Linear(64, 100)
    def forward(self, input_ids, {parameter}=None):
        logits = self.lm_head(self.body(input_ids, is_causal={causal}))
        {cut}
        return F.cross_entropy({logits}.reshape(-1, 100), {labels}.reshape(-1))
"""
)


def head(labels="input_ids", cut="pass", logits="logits", causal="True", parameter="labels", name="Net"):
    return MODELS.format(labels=labels, cut=cut, logits=logits, causal=causal, parameter=parameter, name=name)


SHIFTED = head("labels[:, 1:]", logits="logits[:, :-1]")


@for_each(
    ("text", "told"),
    [
        (head(), ["warning"]),
        (head(causal="False", name="TinyGPT"), ["warning"]),
        (SHIFTED + head("labels", name="WithTwoHeads"), ["warning"]),
        (head("labels") + "collator = DataCollatorForLanguageModeling(tokenizer, mlm=False)\n", ["warning"]),
        (head("lm_labels", parameter="lm_labels") + SHIFTED.replace("labels", "lm_labels"), ["warning"]),
        (SHIFTED, []),
        (head("labels"), []),
        (head("input_ids[:, 1:]", logits="logits[:, :-1]"), []),
        (head(causal="False", name="Denoiser").replace("is_causal", "mask"), []),
        (SHIFTED + head("mc_labels", parameter="mc_labels"), []),
    ],
)
def test_a_head_of_the_script_shifts_what_it_is_compared_with(text, told):
    assert said(l114_labels_not_shifted, text) == told


def test_a_masked_language_model_compares_positions_as_they_are():
    masked = head("labels", name="NetForMaskedLM")
    assert said(l114_labels_not_shifted, SHIFTED + masked) == []
