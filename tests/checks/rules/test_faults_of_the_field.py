"""Faults that public issues report, in further forms, and twins that are right: one line for each."""

from dataclasses import replace

from tests.checks.examined import diagnosed
from tests.for_each import for_each
from trimtab.checks.catalogue import all_rules

RULES = {rule.code: (rule, check) for rule, check in all_rules()}
LOOP = "for x, y in loader:\n    optimizer.zero_grad()\n    loss = F.cross_entropy(model(x), y)\n"
HEAD = (
    "import math\nimport copy\nimport numpy as np\nimport torch\nimport torch.nn.functional as F\nfrom torch "
    "import nn\n"
    "model = nn.Linear(8, 2)\noptimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)\n"
)
TURN = LOOP + "    loss.backward()\n    optimizer.step()\n"
EPOCHS = "for epoch in range(9):\n" + "".join(f"    {line}\n" for line in TURN.splitlines())
MODULE = (
    "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        {init}\n"
    "    def forward(self, {args}):\n        {body}\n"
)
DIST = "import torch.distributed as dist\nrank = dist.get_rank()\n"
SCALED = (
    "scaler = torch.amp.GradScaler('cuda')\nfor x, y in loader:\n    optimizer.zero_grad()\n"
    "    with torch.autocast('cuda', torch.float16):\n        loss = F.cross_entropy(model(x), y)\n"
)


def module(init, args, body):
    return HEAD + MODULE.format(init=init, args=args, body=body)


def said(code, text):
    rule, check = RULES[code]
    return len(diagnosed(check, replace(rule.bad, file="train.py", text=text, versions="")))


NEXT = TURN.replace("model(x)", "head(model(x))")
WRONG = {
    "a layer beside the model": ("S169", HEAD + "head = nn.Linear(2, 2)\n" + NEXT),
    "schedule of an Accelerator that does not count": (
        "S102",
        HEAD + "from accelerate import Accelerator\naccelerator = Accelerator()\n"
        "schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 9 * len(loader) // 8)\n"
        "for i, (x, y) in enumerate(loader):\n    accelerator.backward(F.cross_entropy(model(x), y) / 8)\n"
        "    schedule.step()\n    if (i + 1) % 8 == 0:\n        optimizer.step()\n        optimizer.zero_grad()\n",
    ),
    "state kept by a shallow copy": (
        "K113",
        HEAD + EPOCHS + "    if score() > top:\n        best_state = model.state_dict().copy()\n",
    ),
    "the model under another name": (
        "K113",
        HEAD + EPOCHS + "    if score() > top:\n        best_model = model\nprint(best_model)\n",
    ),
    "state kept by early stopping": (
        "K113",
        HEAD + "class Stop:\n    def __call__(self, model, loss):\n        if loss < self.least:\n"
        "            self.best = model.state_dict()\n        else:\n            model.load_state_dict(self.best)\n",
    ),
    "best accuracy starts at infinity": (
        "E117",
        HEAD
        + "best = float('inf')\n"
        + EPOCHS
        + "    acc = score()\n    if acc > best:\n        best = acc\n",
    ),
    "flag that starts true": (
        "C127",
        HEAD
        + "import argparse\np = argparse.ArgumentParser()\np.add_argument('--x', action='store_true', default=True)\n",
    ),
    "list of characters": (
        "C127",
        HEAD
        + "import argparse\np = argparse.ArgumentParser()\np.add_argument('-l', '--layers', type=list)\n",
    ),
    "parameters not called": ("C128", HEAD.replace("model.parameters()", "model.parameters") + TURN),
    "mode not called": ("C128", HEAD + "model.eval\n" + TURN),
    "renamed column lost": (
        "C129",
        HEAD
        + "from datasets import load_dataset\nd = load_dataset('x')['train']\nd.rename_column('a', 'b')\n",
    ),
    "entry of a batch not moved": (
        "C129",
        HEAD + "for batch in loader:\n    batch['ids'].to('cuda')\n    model(batch['ids'])\n",
    ),
    "masked labels lost": (
        "C129",
        HEAD
        + "for x, y in loader:\n    y.masked_fill(y == 0, -100)\n    F.cross_entropy(model(x), y).backward()\n",
    ),
    "reduction in the main branch": (
        "P119",
        HEAD + DIST + TURN + "if rank == 0:\n    dist.all_reduce(loss)\n",
    ),
    "barrier of accelerate": (
        "P119",
        HEAD
        + "from accelerate import Accelerator\naccelerator = Accelerator()\n"
        + TURN
        + "if accelerator.is_main_process:\n    accelerator.wait_for_everyone()\n",
    ),
    "barrier in the other branch": (
        "P119",
        HEAD + DIST + TURN + "if rank != 0:\n    pass\nelse:\n    dist.barrier()\n",
    ),
    "a method past the wrapper": (
        "P120",
        HEAD
        + "from torch.nn.parallel import DistributedDataParallel\nmodel = DistributedDataParallel(model)\n"
        "for x, y in loader:\n    optimizer.zero_grad()\n    model.module.losses(x, y).backward()\n    "
        "optimizer.step()\n",
    ),
    "likelihood of logits": ("L121", HEAD + TURN.replace("F.cross_entropy", "nn.NLLLoss()")),
    "binary entropy of logits": ("L121", HEAD + TURN.replace("F.cross_entropy", "F.binary_cross_entropy")),
    "divergence of two probabilities": (
        "L121",
        HEAD + TURN.replace("F.cross_entropy(model(x), y)", "F.kl_div(model(x).softmax(-1), y)"),
    ),
    "target in logarithms": (
        "L121",
        HEAD
        + TURN.replace(
            "F.cross_entropy(model(x), y)", "F.kl_div(model(x).log_softmax(-1), model(y).log_softmax(-1))"
        ),
    ),
    "modules that are appended": (
        "M321",
        module(
            "self.a = []\n        for _ in range(3):\n            self.a.append(nn.Linear(2, 2))",
            "x",
            "return x",
        ),
    ),
    "modules in a dict": (
        "M321",
        module("self.a = {'q': nn.Linear(2, 2), 'k': nn.Linear(2, 2)}", "x", "return x") + "net = Net()\n",
    ),
    "keys of a tokenizer's mask": (
        "M322",
        module(
            "self.a = nn.MultiheadAttention(8, 2)",
            "x, attention_mask",
            "return self.a(x, x, x, key_padding_mask=attention_mask == 1)[0]",
        ),
    ),
    "padding as what takes part": (
        "M322",
        module(
            "self.p = 0",
            "x, ids, pad_id",
            "return F.scaled_dot_product_attention(x, x, x, attn_mask=ids == pad_id)",
        ),
    ),
    "last state of a recurrent layer": (
        "M323",
        module(
            "self.r = nn.LSTM(8, 8)\n        self.o = nn.Linear(8, 2)",
            "x",
            "h, _ = self.r(x)\n        return self.o(h[:, -1])",
        ),
    ),
    "first position of an encoder": (
        "M323",
        module(
            "self.e = nn.TransformerEncoder(nn.TransformerEncoderLayer(d_model=8, nhead=2), 2)\n        self.o = "
            "nn.Linear(8, 2)",
            "x",
            "h = self.e(x)\n        return self.o(h[:, 0, :])",
        ),
    ),
    "a decoder's own layer": (
        "M325",
        HEAD
        + "embed = nn.Embedding(9, 8)\ndecoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2), 2)\n"
        "for x, y in loader:\n    F.cross_entropy(decoder(embed(y[:, :-1]), x), y[:, 1:]).backward()\n    "
        "optimizer.step()\n",
    ),
    "weights masked behind the softmax": (
        "M326",
        module(
            "self.a = 1",
            "q, k, v, m",
            "w = F.softmax(q @ k, dim=-1)\n        w = w.masked_fill(m, -1e9)\n        return w @ v",
        ),
    ),
    "softmax over the queries": (
        "M327",
        module(
            "self.a = 1",
            "q, k, v",
            "w = torch.bmm(q, k.transpose(1, 2)).softmax(1)\n        return torch.bmm(w, v)",
        ),
    ),
    "softmax over heads": (
        "M327",
        module(
            "self.s = nn.Softmax(dim=2)",
            "q, k, v",
            "w = self.s(torch.matmul(q, k.transpose(2, 3)))\n        return torch.matmul(w, v)",
        ),
    ),
    "a target that is moved": (
        "M328",
        HEAD + "target = model.to('cuda')\ntarget.load_state_dict(model.state_dict())\n",
    ),
    "two dimensions dropped": (
        "E118",
        module("self.a = nn.Linear(2, 2)", "x", "return self.a(F.dropout2d(x, p=0.2))"),
    ),
    "score against the mode": (
        "S163",
        HEAD
        + "s = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)\nval_acc = score()\ns.step(val_acc)\n",
    ),
    "no metric": ("S163", HEAD + "s = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer)\ns.step()\n"),
    "numpy at every epoch": ("D125", HEAD + EPOCHS.replace(":\n", ":\n    np.random.seed(3)\n", 1)),
    "never updated": (
        "S162",
        HEAD + SCALED + "    scaler.scale(loss).backward()\n    scaler.step(optimizer)\n",
    ),
    "never scaled": (
        "S162",
        HEAD + SCALED + "    loss.backward()\n    scaler.step(optimizer)\n    scaler.update()\n",
    ),
    "stepped twice": (
        "S162",
        HEAD
        + SCALED
        + "    scaler.scale(loss).backward()\n    scaler.step(optimizer)\n    optimizer.step()\n    scaler.update()\n",
    ),
    "a number made a tensor": (
        "S164",
        HEAD
        + TURN.replace(
            "F.cross_entropy(model(x), y)",
            "torch.tensor(F.cross_entropy(model(x), y).item(), requires_grad=True)",
        ),
    ),
    "not every eighth": (
        "S167",
        HEAD
        + "for i, (x, y) in enumerate(loader):\n    F.cross_entropy(model(x), y).backward()\n    if not i % 8:\n "
        "       optimizer.step()\n        optimizer.zero_grad()\n",
    ),
    "clipped before there are gradients": (
        "S138",
        HEAD
        + LOOP
        + "    nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n    loss.backward()\n    optimizer.step()\n",
    ),
    "workers with one seed": (
        "D116",
        HEAD
        + "from torch.utils.data import DataLoader, Dataset\nclass D(Dataset):\n    def __getitem__(self, i):\n"
        "        return np.random.rand(3)\ndef start(i):\n    np.random.seed(7)\n"
        "loader = DataLoader(D(), num_workers=2, worker_init_fn=start)\n",
    ),
    "one set in two loaders": (
        "D105",
        HEAD + "from torch.utils.data import DataLoader\ndata = load()\ntrain_loader = DataLoader(data, "
        "shuffle=True)\nval_loader = DataLoader(data)\n",
    ),
    "accumulation by hand with Fabric": (
        "S143",
        HEAD + "import lightning as L\nfabric = L.Fabric()\nfor i, (x, y) in enumerate(loader):\n"
        "    fabric.backward(F.cross_entropy(model(x), y))\n    if (i + 1) % 4 == 0:\n        optimizer.step()\n "
        "       optimizer.zero_grad()\n",
    ),
    "warm-up by epochs in Lightning": (
        "S146",
        HEAD + "import lightning as L\nclass M(L.LightningModule):\n    def configure_optimizers(self):\n"
        "        o = torch.optim.AdamW(self.parameters())\n        warmup_steps = 100\n"
        "        def rate(step):\n            return min(1.0, step / warmup_steps)\n"
        "        s = torch.optim.lr_scheduler.LambdaLR(o, rate)\n        return [o], [s]\n",
    ),
}


@for_each("case", WRONG)
def test_it_is_named(case):
    code, text = WRONG[case]
    assert said(code, text) == 1
