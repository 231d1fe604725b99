"""Twins of faults that public issues report, which are right and left alone."""

from tests.checks.rules.test_faults_of_the_field import (
    DIST,
    EPOCHS,
    HEAD,
    LOOP,
    NEXT,
    RULES,
    SCALED,
    TURN,
    module,
    said,
)
from tests.for_each import for_each

RIGHT = {
    "half weights by an option": (
        "S302",
        HEAD + "if args.half:\n    model = model.to(dtype=torch.bfloat16)\n" + TURN,
    ),
    "a layer that is frozen": ("S169", HEAD + "head = nn.Linear(2, 2)\nhead.requires_grad_(False)\n" + NEXT),
    "a layer in a list": (
        "S169",
        HEAD + "head = nn.Linear(2, 2)\noptimizer.add_param_group({'params': [head]})\n" + NEXT,
    ),
    "modules that move in place": (
        "C129",
        HEAD + "for name, part in model.named_modules():\n    part.to('cuda')\n",
    ),
    "a list that is sorted": (
        "C129",
        HEAD
        + "from datasets import load_dataset\nd = load_dataset('x')\nnames = d.unique('label')\nnames.sort()\n",
    ),
    "barriers of two tests": (
        "P119",
        HEAD
        + DIST
        + "if rank not in [-1, 0] and mode == 'train':\n    dist.barrier()\nif rank == 0 and mode == 'train':\n  "
        "  dist.barrier()\n",
    ),
    "loaders over one graph": (
        "D105",
        HEAD
        + "from dgl.dataloading import DataLoader\ntrain_loader = DataLoader(g, a, shuffle=True)\nval_loader = "
        "DataLoader(g, b)\n",
    ),
    "text encoders of a diffusion model": ("D129", "import diffusers\n" + RULES["D129"][0].bad.text),
    "a strategy that steps": (
        "S165",
        HEAD + TURN.replace("optimizer.step()", "strategy.optimizer_step(optimizer)"),
    ),
    "a file is a copy": (
        "K113",
        HEAD
        + EPOCHS
        + "    if score() > top:\n        best = model.state_dict()\n        torch.save(best, 'best.pt')\n",
    ),
    "tensors are cloned": (
        "K113",
        HEAD + EPOCHS + "    best = {k: v.clone() for k, v in model.state_dict().items()}\n",
    ),
    "a score of its own": (
        "E117",
        HEAD
        + "best_reward = 0\n"
        + EPOCHS
        + "    reward = score()\n    if reward < best_reward:\n        best_reward = reward\n",
    ),
    "another type": (
        "C127",
        HEAD
        + "import argparse\np = argparse.ArgumentParser()\np.add_argument('--x', type=boolean, default=True)\n",
    ),
    "an attribute that is read": ("C128", HEAD + "mode = model.training\nmodel.eval()\n" + TURN),
    "a batch that moves itself": (
        "C129",
        HEAD + "for batch in loader:\n    batch.to('cuda')\n    model(batch.x)\n",
    ),
    "a pool of processes": (
        "C129",
        HEAD + "from multiprocessing import Pool\npool = Pool(2)\npool.map(print, [1])\n",
    ),
    "barriers in both branches": (
        "P119",
        HEAD
        + DIST
        + "if rank != 0:\n    dist.barrier()\ndownload()\nif rank == 0:\n    dist.barrier()\n"
        + TURN,
    ),
    "a group of one's own": ("P119", HEAD + DIST + TURN + "if rank == 0:\n    dist.barrier(group=mine)\n"),
    "evaluation past the wrapper": (
        "P120",
        HEAD
        + "from torch.nn.parallel import DistributedDataParallel\nmodel = DistributedDataParallel(model)\n"
        + TURN
        + "with torch.no_grad():\n    model.module(x)\n",
    ),
    "likelihood of logarithms": (
        "L121",
        HEAD + TURN.replace("F.cross_entropy(model(x), y)", "F.nll_loss(F.log_softmax(model(x), -1), y)"),
    ),
    "modules without weights": ("M321", module("self.a = [nn.ReLU(), nn.Tanh()]", "x", "return x")),
    "a list that is registered later": (
        "M321",
        module(
            "a = [nn.Linear(2, 2) for _ in range(3)]\n        self.b = a\n        self.c = nn.Sequential(*a)",
            "x",
            "return x",
        ),
    ),
    "a mask turned round": (
        "M322",
        module(
            "self.a = nn.MultiheadAttention(8, 2)",
            "x, attention_mask",
            "return self.a(x, x, x, key_padding_mask=~attention_mask.bool())[0]",
        ),
    ),
    "axes turned round": (
        "M323",
        module(
            "self.r = nn.LSTM(8, 8)\n        self.o = nn.Linear(8, 2)",
            "x",
            "h, _ = self.r(x.transpose(0, 1))\n        return self.o(h[-1])",
        ),
    ),
    "the last step of a sequence": (
        "M323",
        module(
            "self.r = nn.LSTM(8, 8)\n        self.o = nn.Linear(8, 2)",
            "x",
            "h, _ = self.r(x)\n        return self.o(h[-1])",
        ),
    ),
    "queries of a detector": (
        "M325",
        HEAD
        + "queries = nn.Embedding(100, 8)\ndecoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2), 2)\n"
        "for x, y in loader:\n    F.cross_entropy(decoder(queries.weight, x), y[:, :-1]).backward()\n    "
        "optimizer.step()\n",
    ),
    "weights set to nothing": (
        "M326",
        module(
            "self.a = 1",
            "q, k, v, m",
            "w = F.softmax(q @ k, dim=-1)\n        w = w.masked_fill(m, 0.0)\n        return w @ v",
        ),
    ),
    "slots compete": (
        "M327",
        module(
            "self.a = 1",
            "q, k, v",
            "w = torch.bmm(q, k.transpose(1, 2)).softmax(1)\n        w = w / w.sum(-1, keepdim=True)\n        "
            "return torch.bmm(w, v)",
        ),
    ),
    "a state that is changed": (
        "M328",
        HEAD + "state = model.state_dict()\nstate.update(torch.load('a', weights_only=True))\n"
        "model.load_state_dict(state)\n",
    ),
    "dropout in training alone": (
        "E118",
        module(
            "self.a = nn.Linear(2, 2)",
            "x",
            "if self.training:\n            x = F.dropout(x, 0.2)\n        return self.a(x)",
        ),
    ),
    "a loss turned round": (
        "S163",
        HEAD
        + "s = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, 'max')\nloss = score()\ns.step(-loss)\n",
    ),
    "seed of a fold": (
        "D125",
        "import torch\nimport torch.nn.functional as F\nfor fold in range(5):\n    torch.manual_seed(0)\n    "
        "model = torch.nn.Linear(8, 2)\n"
        "    optimizer = torch.optim.AdamW(model.parameters())\n    for x, y in loader:\n        "
        "optimizer.zero_grad()\n"
        "        F.cross_entropy(model(x), y).backward()\n        optimizer.step()\n",
    ),
    "a scaler for one of two ways": (
        "S162",
        HEAD
        + SCALED
        + "    if amp:\n        scaler.scale(loss).backward()\n        scaler.step(optimizer)\n        "
        "scaler.update()\n"
        "    else:\n        loss.backward()\n        optimizer.step()\n",
    ),
    "a gradient of the inputs": (
        "S164",
        HEAD + TURN.replace("    loss.backward()", "    x.requires_grad = True\n    loss.backward()"),
    ),
    "losses of an epoch": (
        "P312",
        HEAD + "total = 0\n" + LOOP + "    total += loss\ntotal.backward()\noptimizer.step()\n",
    ),
    "a schedule in a list": (
        "S161",
        HEAD
        + "a = torch.optim.lr_scheduler.StepLR(optimizer, 3)\nall_of_them = [a]\n"
        + TURN
        + "    for each in all_of_them:\n        each.step()\n",
    ),
    "a head behind the freezing": (
        "S168",
        HEAD
        + "for p in model.parameters():\n    p.requires_grad = False\nmodel.head = nn.Linear(8, 2)\n"
        + TURN,
    ),
    "average behind the step": (
        "S166",
        HEAD
        + "for i, (x, y) in enumerate(loader):\n    F.cross_entropy(model(x), y).backward()\n    if (i + 1) % 8 == 0:\n"
        "        optimizer.step()\n        optimizer.zero_grad()\n        ema.update()\n",
    ),
    "counted from one": (
        "S167",
        HEAD
        + "for i, (x, y) in enumerate(loader, 1):\n    F.cross_entropy(model(x), y).backward()\n    if i % 8 == "
        "0:\n        optimizer.step()\n        optimizer.zero_grad()\n",
    ),
    "a sampler of one's own": (
        "D115",
        HEAD + "from utils import DistributedSampler\nfrom torch.utils.data import DataLoader\n"
        "own = DistributedSampler(data)\nloader = DataLoader(data, sampler=own)\nfor epoch in range(3):\n"
        "    for x, y in loader:\n        F.cross_entropy(model(x), y).backward()\n        optimizer.step()\n"
        "        optimizer.zero_grad()\n",
    ),
    "an optimizer that DeepSpeed wraps": (
        "S159",
        HEAD + "import deepspeed\nsched = torch.optim.lr_scheduler.StepLR(optimizer, 100)\n"
        "engine, wrapped, _, _ = deepspeed.initialize(model=model, optimizer=optimizer)\n"
        "other = torch.optim.SGD(engine.parameters(), lr=0.1)\nfor x, y in loader:\n"
        "    F.cross_entropy(engine(x), y).backward()\n    other.step()\n    other.zero_grad()\n    sched.step()\n",
    ),
    "weights that are floats again before the merge": (
        "X104",
        "from peft import PeftModel\nfrom transformers import AutoModelForCausalLM, BitsAndBytesConfig\n"
        "four = BitsAndBytesConfig(load_in_4bit=True)\n"
        "raw = AutoModelForCausalLM.from_pretrained('x', quantization_config=four)\nraw = dequantize_model(raw)\n"
        "PeftModel.from_pretrained(raw, 'a').merge_and_unload().save_pretrained('o')\n",
    ),
    "a loss that somebody else makes": (
        "S315",
        HEAD
        + "scaler = torch.amp.GradScaler('cuda')\ndef go_back(losses, optimizer):\n    for loss in losses:\n"
        "        scaler.scale(loss).backward()\n        scaler.step(optimizer)\n        scaler.update()\n",
    ),
    "a step in another method": (
        "L122",
        "import torch\nimport lightning as L\nclass Meta(L.LightningModule):\n"
        "    def training_step(self, batch, i):\n        self.outer(batch)\n        return None\n"
        "    def outer(self, batch):\n        opt = self.optimizers()\n        opt.step()\n        opt.zero_grad()\n",
    ),
    "gradients that train nothing": (
        "D133",
        HEAD + "from torch.utils.data import DataLoader\nmodel = nn.parallel.DistributedDataParallel(model)\n"
        "loader = DataLoader(data, shuffle=True)\nfor x, y in loader:\n    F.cross_entropy(model(x), y).backward()\n",
    ),
    "gradients of the step before": (
        "S138",
        HEAD
        + "for x, y in loader:\n    nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n    optimizer.step()\n    "
        "optimizer.zero_grad()\n"
        "    F.cross_entropy(model(x), y).backward()\n",
    ),
    "a base class elsewhere steps the schedule": (
        "S161",
        "import torch\nfrom base import Base\nclass Run(Base):\n    def __init__(self, net):\n"
        "        self.optimizer = torch.optim.SGD(net.parameters(), 0.1)\n"
        "        self.plan = torch.optim.lr_scheduler.StepLR(self.optimizer, 20)\n    def fit(self, net, loader):\n"
        "        for x in loader:\n            self.optimizer.zero_grad()\n            net(x).mean().backward()\n"
        "            self.optimizer.step()\n",
    ),
    "labels that a model makes its loss of": (
        "L115",
        HEAD
        + "from transformers import AutoModelForSeq2SeqLM\nother = AutoModelForSeq2SeqLM.from_pretrained('t5-small')\n"
        "def forward(ids, labels, start):\n    labels[labels == 0] = -100\n    loss = other(ids, labels=labels).loss\n"
        "    return loss + nn.CrossEntropyLoss(ignore_index=-1)(model(ids), start)\n",
    ),
    "an attention mask that is cleared": (
        "L115",
        "import transformers\ndef ignore(ids, attention_mask, token):\n    attention_mask = attention_mask.clone()\n"
        "    attention_mask[ids == token] = 0\n    return {'input_ids': ids, 'labels': ids}\n",
    ),
    "a tour of the methods of a tensor": (
        "C129",
        "import torch\nt = torch.randn(2, 3)\nt.sum(dim=0)\nt.numel()\nt.squeeze()\nt.unsqueeze(0)\n",
    ),
    "a pass that measures statistics": (
        "E114",
        HEAD + EPOCHS + "for m in model.modules():\n    m.reset_running_stats()\nwith torch.no_grad():\n"
        "    model.train()\n    for x, y in valid_loader:\n        model(x)\n",
    ),
    "a trainer that only evaluates": (
        "D105",
        "from transformers import Trainer, TrainingArguments\ndata = load()\nargs = TrainingArguments('o')\n"
        "print(Trainer(model, args, train_dataset=data, eval_dataset=data).evaluate())\n",
    ),
    "the mode of a teacher": (
        "E108",
        HEAD + "teacher = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.1))\n"
        "model = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.1))\n"
        "class Run:\n    def test(self, x):\n        model.eval()\n        return model(x)\n"
        "    def fit(self, loader):\n        teacher.eval()\n        for x, y in loader:\n            model.train()\n"
        "            optimizer.zero_grad()\n            F.cross_entropy(model(x), y).backward()\n"
        "            optimizer.step()\n",
    ),
    "a padding mask of flash attention": (
        "M322",
        "import torch\nfrom flash_attn import flash_attn_func\nfrom mine import unpad\n"
        "def forward(q, attention_mask):\n"
        "    return unpad(q, key_padding_mask=attention_mask.bool())\n",
    ),
    "modules of MLX": (
        "M321",
        "import torch\nimport mlx.core as mx\nimport mlx.nn as nn\nclass Net(nn.Module):\n    def __init__(self):\n"
        "        self.layers = [Block() for _ in range(4)]\nclass Block(nn.Module):\n    pass\nnet = Net()\n"
        "optimizer = torch.optim.AdamW(net.parameters())\n",
    ),
}


@for_each("case", RIGHT)
def test_it_is_left_alone(case):
    code, text = RIGHT[case]
    assert said(code, text) == 0
