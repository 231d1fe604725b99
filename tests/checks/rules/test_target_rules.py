"""What labels and logits are, followed through a script: further inputs of each kind, and twins that are right."""

from textwrap import dedent

from tests.checks.rules.findings import findings, severities
from tests.for_each import for_each
from trimtab.checks.rules import (
    d117_target_read_as_source,
    d118_template_tokenised_with_special_tokens,
    l113_labels_shifted_twice,
    l114_labels_not_shifted,
    l115_ignore_index_of_another_value,
    l116_softmax_before_cross_entropy,
    l117_markers_of_another_template,
    m115_pad_is_eos,
    m319_attention_dropout_in_evaluation,
    s128_mean_of_means,
)

IMPORTS = (
    "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n"
    "from transformers import AutoModelForCausalLM, AutoTokenizer, GPT2LMHeadModel, MarianTokenizer, T5Tokenizer\n"
)
CAUSAL = 'model = AutoModelForCausalLM.from_pretrained("gpt2").cuda()\n'


def fires(rule, text):
    return len(findings(rule, "train.py", IMPORTS + dedent(text))) > 0


@for_each(
    "loop",
    [
        "for ids in loader:\n    model(ids[:, :-1], labels=ids[:, 1:]).loss.backward()",
        "for b in loader:\n    x, y = b['ids'][:, :-1].contiguous(), b['ids'][:, 1:].contiguous()\n"
        "    model(input_ids=x, labels=y).loss.backward()",
        "def step(net, ids):\n    return net(input_ids=ids[..., :-1], labels=ids[..., 1:]).loss\n\n"
        "for ids in loader:\n    step(model, ids).backward()",
        "net = torch.compile(model)\nfor ids in loader:\n    net(ids[:, :-1].to(d), labels=ids[:, 1:].to(d))",
        "net = GPT2LMHeadModel(config)\nfor ids in loader:\n    net(input_ids=ids[:, :-1], labels=ids[:, 1:])",
    ],
)
def test_labels_that_are_shifted_before_a_model_that_shifts(loop):
    assert fires(l113_labels_shifted_twice, CAUSAL + loop)


@for_each(
    "loop",
    [
        "for ids in loader:\n    model(ids, labels=ids).loss.backward()",
        "for ids in loader:\n    model(ids[:, :-1], labels=ids[:, :-1]).loss.backward()",
        "for ids in loader:\n    net(ids[:, :-1], labels=ids[:, 1:])",
        "for ids in loader:\n    logits = model(ids[:, :-1]).logits\n    F.cross_entropy(logits, ids[:, 1:])",
        "for a, b in loader:\n    model(a[:, :-1], labels=b[:, 1:])",
    ],
)
def test_labels_that_are_shifted_once(loop):
    assert not fires(l113_labels_shifted_twice, CAUSAL + loop)


@for_each(
    ("loop", "severity"),
    [
        ("x = model(ids).logits\nF.cross_entropy(x.view(-1, 9), ids.view(-1))", "error"),
        ("x = model(input_ids=ids)[0]\nF.cross_entropy(x.flatten(0, 1), ids.flatten())", "error"),
        (
            "x = model(input_ids=b['input_ids']).logits\nF.cross_entropy(x.view(-1, 9), b['labels'].view(-1))",
            "warning",
        ),
        ("x = model(b.input_ids).logits\nnn.CrossEntropyLoss()(x.view(-1, 9), b.labels.view(-1))", "warning"),
        (
            "x = model(input_ids=ids.cuda()).logits.float()\nF.cross_entropy(x.transpose(1, 2), ids.cuda())",
            "error",
        ),
    ],
)
def test_labels_that_nobody_shifts(loop, severity):
    assert severities(l114_labels_not_shifted, "train.py", IMPORTS + CAUSAL + loop) == [severity]


@for_each(
    "loop",
    [
        "x = model(ids).logits[:, :-1]\nF.cross_entropy(x.flatten(0, 1), ids[:, 1:].flatten())",
        "x = model(ids[:, :-1]).logits\nF.cross_entropy(x.flatten(0, 1), ids[:, 1:].flatten())",
        "x = model(ids).logits\nF.cross_entropy(x.flatten(0, 1), targets.flatten())",
        "x = net(ids).logits\nF.cross_entropy(x.flatten(0, 1), ids.flatten())",
        "labels = torch.roll(ids, -1)\nx = model(ids).logits\nF.cross_entropy(x.flatten(0, 1), labels.flatten())",
    ],
)
def test_labels_that_the_script_shifts(loop):
    assert not fires(l114_labels_not_shifted, CAUSAL + loop)


MASKED = "labels = target.clone()\nlabels[labels == {pad}] = -100\n"


@for_each(
    "text",
    [
        MASKED.format(pad=0) + "nn.CrossEntropyLoss(ignore_index=0)(x, labels)",
        MASKED.format(pad="tok.pad_token_id") + "F.cross_entropy(x, labels, ignore_index=1)",
        "PAD = 1\nlabels = t.masked_fill(t == PAD, -100)\nlabels = labels.masked_fill(m, -100)\n"
        "F.cross_entropy(x, labels, ignore_index=PAD)",
        "PAD_ID = 0\nF.cross_entropy(x, y, ignore_index=-100)",
        "from torch.nn.utils.rnn import pad_sequence\ny = pad_sequence(rows, True, 3)\n"
        "F.cross_entropy(x, y, ignore_index=-100)",
    ],
)
def test_a_loss_that_leaves_out_another_value(text):
    assert fires(l115_ignore_index_of_another_value, text)


@for_each(
    "text",
    [
        MASKED.format(pad=0) + "F.cross_entropy(x, labels, ignore_index=-100)",
        MASKED.format(pad=0) + "F.cross_entropy(x, labels)",
        "PAD = 0\nF.cross_entropy(x, y, ignore_index=PAD)",
        "PAD = 0\nF.cross_entropy(x, y)",
        MASKED.format(pad=0) + "F.cross_entropy(x, labels)\nF.cross_entropy(z, other, ignore_index=0)",
        "PAD = 0\nlabels = build(-100)\nF.cross_entropy(x, labels, ignore_index=-100)",
    ],
)
def test_a_loss_that_leaves_out_the_padding(text):
    assert not fires(l115_ignore_index_of_another_value, text)


NET = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 2)
        self.act = {act}
    def forward(self, x):
        return {returned}
{loss}(Net()(x), y)
"""


@for_each(
    "text",
    [
        NET.format(act="nn.Softmax(-1)", returned="self.act(self.body(x))", loss="nn.CrossEntropyLoss()"),
        NET.format(act="None", returned="F.softmax(self.body(x), dim=1)", loss="F.cross_entropy"),
        NET.format(act="nn.Sigmoid()", returned="self.act(self.body(x))", loss="nn.BCEWithLogitsLoss()"),
        "net = nn.Sequential(nn.Linear(1, 2), nn.Softmax(1))\nF.cross_entropy(net(x), y)",
        "F.cross_entropy(torch.softmax(net(x), dim=-1), y)",
        "p = net(x).softmax(-1)\ncriterion = nn.CrossEntropyLoss().to(d)\ncriterion(p, y)",
    ],
)
def test_an_activation_before_a_loss_that_has_it(text):
    assert fires(l116_softmax_before_cross_entropy, text)


@for_each(
    "text",
    [
        NET.format(act="nn.ReLU()", returned="self.act(self.body(x))", loss="nn.CrossEntropyLoss()"),
        NET.format(act="nn.Softmax(-1)", returned="self.body(x)", loss="nn.CrossEntropyLoss()"),
        "F.nll_loss(torch.log_softmax(net(x), -1), y)",
        "F.binary_cross_entropy(torch.sigmoid(net(x)), y)",
        "attention = torch.softmax(q @ k, -1) @ v\nF.cross_entropy(head(attention), y)",
        "net = nn.Sequential(nn.Softmax(1), nn.Linear(1, 2))\nF.cross_entropy(net(x), y)",
        NET.format(
            act="None",
            returned="F.softmax(self.body(x), 1) if not self.training else self.body(x)",
            loss="F.cross_entropy",
        ),
    ],
)
def test_logits_before_a_loss_that_wants_them(text):
    assert not fires(l116_softmax_before_cross_entropy, text)


ATTENTION = """
class Attention(nn.Module):
    def __init__(self, dropout=0.1):
        super().__init__()
        self.dropout = dropout
        self.drop = nn.Dropout(dropout)
    def forward(self, q, k, v, p=0.0):
        return {}
"""


@for_each(
    "call",
    [
        "F.scaled_dot_product_attention(q, k, v, dropout_p=self.dropout)",
        "F.scaled_dot_product_attention(q, k, v, None, self.dropout)",
        "F.scaled_dot_product_attention(q, k, v, dropout_p=0.1, is_causal=True)",
        "F.scaled_dot_product_attention(q, k, v, dropout_p=self.drop.p)",
        "torch.nn.functional.scaled_dot_product_attention(q, k, v, dropout_p=self.dropout)",
    ],
)
def test_dropout_that_knows_no_mode(call):
    assert fires(m319_attention_dropout_in_evaluation, ATTENTION.format(call))


@for_each(
    "call",
    [
        "F.scaled_dot_product_attention(q, k, v, dropout_p=self.dropout if self.training else 0)",
        "F.scaled_dot_product_attention(q, k, v, dropout_p=p)",
        "F.scaled_dot_product_attention(q, k, v, dropout_p=0.0)",
        "F.scaled_dot_product_attention(q, k, v)",
        "F.scaled_dot_product_attention(q, k, v, dropout_p=self.training * self.dropout)",
        "F.scaled_dot_product_attention(q, k, v, dropout_p=self.rate())",
    ],
)
def test_dropout_that_depends_on_the_mode(call):
    assert not fires(m319_attention_dropout_in_evaluation, ATTENTION.format(call))


@for_each(
    "text",
    [
        "tok = MarianTokenizer.from_pretrained('a')\nx['labels'] = tok(t, truncation=True)['input_ids']",
        "tok = MarianTokenizer.from_pretrained('a')\ndef f(e):\n    x = tok(e['s'])\n"
        "    x['labels'] = tok(e['t']).input_ids\n    return x",
        "tokenizer = AutoTokenizer.from_pretrained('facebook/nllb-200-distilled-600M')\n"
        "b['labels'] = tokenizer(t)['input_ids']",
        "tokenizer = AutoTokenizer.from_pretrained('Helsinki-NLP/opus-mt-en-de')\ny = tokenizer(t)\n"
        "b['labels'] = y['input_ids']",
        "tokenizer = AutoTokenizer.from_pretrained('facebook/mbart-large-50')\n"
        "b['labels'] = tokenizer(t, max_length=128)['input_ids']",
    ],
)
def test_targets_that_are_read_as_source(text):
    assert fires(d117_target_read_as_source, text)


@for_each(
    "text",
    [
        "tok = MarianTokenizer.from_pretrained('a')\nx['labels'] = tok(text_target=t)['input_ids']",
        "tok = MarianTokenizer.from_pretrained('a')\nwith tok.as_target_tokenizer():\n"
        "    x['labels'] = tok(t)['input_ids']",
        "tok = T5Tokenizer.from_pretrained('t5-small')\nx['labels'] = tok(t)['input_ids']",
        "tok = AutoTokenizer.from_pretrained('gpt2')\nx['labels'] = tok(t)['input_ids']",
        "tok = MarianTokenizer.from_pretrained('a')\nx['other'] = tok(t)['input_ids']",
    ],
)
def test_targets_that_are_read_as_such(text):
    assert not fires(d117_target_read_as_source, text)


RENDERED = (
    "tok = AutoTokenizer.from_pretrained({name!r})\ntext = tok.apply_chat_template(m, tokenize=False)\n{use}"
)


@for_each(
    ("name", "use", "told"),
    [
        ("meta-llama/Llama-3.2-1B-Instruct", "tok(text)", True),
        ("google/gemma-2-2b-it", "tok([text], return_tensors='pt').to('cuda')", True),
        ("mistralai/Mistral-7B-Instruct-v0.3", "tok.encode(text)", True),
        ("HuggingFaceH4/zephyr-7b-beta", "tok(text, padding=True)", True),
        ("meta-llama/Llama-2-7b-chat-hf", "tok(text)", True),
        ("meta-llama/Llama-3.2-1B-Instruct", "tok(text, add_special_tokens=False)", False),
        ("Qwen/Qwen2.5-7B-Instruct", "tok(text)", False),
        ("google/gemma-2-2b-it", "tok(other)", False),
        ("google/gemma-2-2b-it", "other(text)", False),
        ("google/gemma-2-2b-it", "tok.apply_chat_template(m, tokenize=True)", False),
    ],
)
def test_templates_that_are_tokenised_with_special_tokens(name, use, told):
    assert fires(d118_template_tokenised_with_special_tokens, RENDERED.format(name=name, use=use)) is told


MARKERS = (
    "from unsloth import FastLanguageModel\nfrom unsloth.chat_templates import *\n"
    "model, tok = FastLanguageModel.from_pretrained({name!r})\n{template}"
    "train_on_responses_only(trainer, instruction_part={user!r}, response_part={answer!r})\n"
)
LLAMA = ("<|start_header_id|>user<|end_header_id|>", "<|start_header_id|>assistant<|end_header_id|>")
CHATML = ("<|im_start|>user\n", "<|im_start|>assistant\n")
GEMMA = ("<start_of_turn>user\n", "<start_of_turn>model\n")


@for_each(
    ("name", "template", "marks", "told"),
    [
        ("unsloth/Llama-3.2-3B-Instruct", "", CHATML, True),
        ("unsloth/gemma-2-9b-it", "", LLAMA, True),
        ("unsloth/Qwen2.5-7B-Instruct", "", GEMMA, True),
        ("unsloth/Qwen2.5-7B", "tok = get_chat_template(tok, chat_template='gemma')\n", CHATML, True),
        ("unsloth/mistral-7b-instruct-v0.3", "", CHATML, True),
        ("unsloth/Llama-3.2-3B-Instruct", "", LLAMA, False),
        ("unsloth/gemma-2-9b-it", "", GEMMA, False),
        ("unsloth/Qwen2.5-7B", "", GEMMA, False),
        (
            "unsloth/Llama-3.2-3B-Instruct",
            "tok = get_chat_template(tok, chat_template='chatml')\n",
            CHATML,
            False,
        ),
        ("my/model-instruct", "", CHATML, False),
    ],
)
def test_markers_of_templates(name, template, marks, told):
    text = MARKERS.format(name=name, template=template, user=marks[0], answer=marks[1])
    assert fires(l117_markers_of_another_template, text) is told


EOS = (
    "from transformers import Trainer\ntokenizer = AutoTokenizer.from_pretrained('a')\n"
    "tokenizer.pad_token = tokenizer.eos_token\nmodel = AutoModelForCausalLM.from_pretrained('a')\n{}\n"
    "Trainer(model=model).train()\n"
)


@for_each(
    ("lines", "told"),
    [
        ("labels[labels == tokenizer.pad_token_id] = -100", True),
        ("batch['labels'][batch['labels'] == tokenizer.pad_token_id] = -100", True),
        (
            "def collate(rows):\n    y = rows['input_ids'].clone()\n    y[y == tokenizer.pad_token_id] = -100",
            True,
        ),
        ("labels[attention_mask == 0] = -100", False),
        ("labels[labels == tokenizer.unk_token_id] = -100", False),
    ],
)
def test_the_end_that_a_script_masks_itself(lines, told):
    assert fires(m115_pad_is_eos, EOS.format(lines)) is told


MEANS = CAUSAL + "optimizer = torch.optim.SGD(model.parameters())\nACCUM = 8\ny = pad(-100)\n{}"


@for_each(
    ("loop", "told"),
    [
        ("for b in loader:\n    loss = model(**b).loss / ACCUM\n    loss.backward()", True),
        ("for b in loader:\n    out = model(**b)\n    (out.loss / 4).backward()", True),
        (
            "for b in loader:\n    loss = model(**b)[0]\n    loss = loss / args.grad_accum\n    loss.backward()",
            True,
        ),
        ("for b in loader:\n    model(**b).loss.backward()", False),
        ("for b in loader:\n    loss = net(b) / ACCUM\n    loss.backward()", False),
        (
            "for b in loader:\n    loss = model(**b, num_items_in_batch=n).loss / ACCUM\n    loss.backward()",
            False,
        ),
        ("for b in loader:\n    loss = model(**b).loss / b.count\n    loss.backward()", False),
    ],
)
def test_means_of_means_in_loops(loop, told):
    assert fires(s128_mean_of_means, MEANS.format(loop)) is told
