"""Scripts that run as several processes: what each of them reads, counts and saves."""

from textwrap import indent

from tests.checks.rules.findings import severities
from tests.for_each import for_each
from trimtab.checks.rules import d123_evaluation_sampler_repeats as d123
from trimtab.checks.rules import d133_distributed_without_sampler as d133
from trimtab.checks.rules import p121_method_of_wrapped_model as p121

BEGIN = (
    "import os\nimport torch\nimport torch.nn as nn\nimport torch.distributed as dist\n"
    "import torch.nn.functional as F\n"
    "import torchvision\nfrom torch.distributed.fsdp import FullyShardedDataParallel as FSDP\n"
    "from torch.nn.parallel import DistributedDataParallel as DDP\n"
    "from torch.utils.data import DataLoader, Dataset, DistributedSampler, RandomSampler, Subset\n"
    "from tqdm import tqdm\n"
)
WHOLE = "loader = DataLoader(data, batch_size=64, shuffle=True)"
SAMPLED = "sampler = DistributedSampler(data)\n    loader = DataLoader(data, batch_size=64, sampler=sampler)"


def of_ddp(loader=WHOLE, *, model="DDP(torchvision.models.resnet18())", seed="0", over="loader", before=""):
    """A classifier that several processes train."""
    return (
        f'{BEGIN}{before}def main():\n    dist.init_process_group("nccl")\n    rank = int(os.environ["LOCAL_RANK"])\n'
        f"    torch.manual_seed({seed})\n    model = {model}\n    data = torchvision.datasets.CIFAR10('d')\n"
        f"    {loader}\n"
        "    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n    for epoch in range(10):\n"
        f"        for x, y in {over}:\n            loss = F.cross_entropy(model(x), y)\n"
        "            optimizer.zero_grad()\n            loss.backward()\n            optimizer.step()\nmain()\n"
    )


STREAM = "class Stream(torch.utils.data.IterableDataset):\n    def __iter__(self):\n        yield 1\n"
LINES = "class Lines(Dataset):\n    def __getitem__(self, i):\n        return i, i\n"
SHARE = (
    "class Share(Dataset):\n    def __getitem__(self, i):\n"
    "        return self.lines[i * self.world_size + self.rank]\n"
)
ENGINE = (
    BEGIN + "def loader_of():\n    return DataLoader(torchvision.datasets.CIFAR10('d'), 64, True)\n"
    "def train(model, loader, optimizer):\n    for x, y in loader:\n        optimizer.zero_grad()\n"
    "        F.cross_entropy(model(x), y).backward()\n        optimizer.step()\n"
    "model = DDP(torchvision.models.resnet18())\n"
    "train(model, loader_of(), torch.optim.SGD(model.parameters(), lr=0.1))\n"
)
OBJECT = (
    BEGIN + "class Runner:\n    def __init__(self, model, data):\n        self.model = DDP(model)\n"
    "        self.loader = DataLoader(data, batch_size=64, shuffle=True)\n"
    "        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n    def fit(self):\n"
    "        for x, y in self.loader:\n            self.optimizer.zero_grad()\n"
    "            F.cross_entropy(self.model(x), y).backward()\n            self.optimizer.step()\n"
    "Runner(torchvision.models.resnet18(), torchvision.datasets.CIFAR10('d')).fit()\n"
)
OF_TRAINER = (
    "from torch.utils.data import DataLoader\nfrom transformers import Trainer\nclass Mine(Trainer):\n"
    "    def get_train_dataloader(self):\n        return {made}\n"
)
PLAIN = "DataLoader(self.train_dataset, batch_size=8, shuffle=True)"
OF_LIGHTNING = (
    "import torch\nimport lightning as L\nfrom torch.utils.data import DataLoader, TensorDataset\n"
    "class Module(L.LightningModule):\n    def training_step(self, batch, i):\n        return self(batch)\n"
    "loader = DataLoader(TensorDataset(torch.zeros(9, 3)), batch_size=3, shuffle=True)\n"
    "L.Trainer(devices=4, use_distributed_sampler={on}).fit(Module(), loader)\n"
)
DRAWN = (
    BEGIN + "rank = int(os.environ['RANK'])\ntorch.manual_seed(1337{rank})\ndata = torch.load('data.pt')\n"
    "def get_batch():\n    at = torch.randint(len(data) - 64, (8,))\n"
    "    return torch.stack([data[i : i + 64] for i in at])\n"
    "model = DDP(nn.Linear(64, 64))\noptimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)\n"
    "for step in range(1000):\n    x = get_batch()\n    optimizer.zero_grad()\n    model(x).mean().backward()\n"
    "    optimizer.step()\n"
)
PREPARED = "model, optimizer, train_loader, valid_loader"
SCORED = (
    "for batch in valid_loader:\n    with torch.no_grad():\n"
    "        predicted = model(**batch).logits.argmax(-1)\n{add}"
)
GATHERED = (
    '    predicted, labels = accelerator.gather_for_metrics((predicted, batch["labels"]))\n'
    "    metric.add_batch(predictions=predicted, references=labels)\n"
)
ALONE = '    metric.add_batch(predictions=predicted, references=batch["labels"])\n'
EVALUATED = SCORED.format(add=GATHERED)
UNWRAPPED = "accelerator.unwrap_model(model).save_pretrained('out')"


def of_accelerate(prepared=PREPARED, *, evaluation=EVALUATED, saved=UNWRAPPED, before=""):
    """A classifier that Accelerate trains, evaluates and saves."""
    return (
        "import torch\nimport evaluate\nfrom accelerate import Accelerator\nfrom torch.utils.data import DataLoader\n"
        f"from transformers import AutoModelForSequenceClassification\nfrom datasets import load_dataset\n{before}"
        "accelerator = Accelerator()\nraw = load_dataset('glue', 'mrpc')\nmetric = evaluate.load('glue', 'mrpc')\n"
        "train_loader = DataLoader(raw['train'], shuffle=True, batch_size=16)\n"
        "valid_loader = DataLoader(raw['validation'], batch_size=32)\n"
        "model = AutoModelForSequenceClassification.from_pretrained('bert-base-cased')\n"
        f"optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5)\n{prepared} = accelerator.prepare({prepared})\n"
        "for epoch in range(3):\n    model.train()\n    for batch in train_loader:\n"
        "        loss = model(**batch).loss\n"
        "        accelerator.backward(loss)\n        optimizer.step()\n        optimizer.zero_grad()\n"
        "    model.eval()\n"
        f"{indent(evaluation, '    ')}\n{saved}\n"
    )


@for_each(
    ("text", "said"),
    [
        (of_ddp(), ["warning"]),
        (of_ddp("loader = DataLoader(data, 64, True)"), ["warning"]),
        (of_ddp("loader = DataLoader(data, 64, sampler=None, shuffle=True)"), ["warning"]),
        (of_ddp("loader = DataLoader(data, 64, sampler=RandomSampler(data))"), ["warning"]),
        (of_ddp("sampler = DistributedSampler(data)\n    " + WHOLE), ["warning"]),
        (of_ddp("loader = DataLoader(Lines(), 64)", before=LINES), ["warning"]),
        (of_ddp(over="tqdm(loader)"), ["warning"]),
        (of_ddp(model="nn.parallel.DistributedDataParallel(torchvision.models.resnet18())"), ["warning"]),
        (of_ddp(model="FSDP(torchvision.models.resnet18())"), ["warning"]),
        (of_ddp(model="torchvision.models.resnet18()\n    if dist.is_initialized():\n        model = DDP(model)"),
         ["warning"]),
        (ENGINE, ["warning"]),
        (OBJECT, ["warning"]),
        (OF_TRAINER.replace("{made}", PLAIN), ["warning"]),
        (OF_LIGHTNING.replace("{on}", "False"), ["warning"]),
        (DRAWN.replace("{rank}", ""), ["warning"]),
        (of_accelerate("model, optimizer"), ["warning"]),
        (of_ddp(SAMPLED), []),
        (of_ddp(SAMPLED + "\n    valid = DataLoader(data, batch_size=64)"), []),
        (of_ddp(seed="1 + rank"), []),
        (of_ddp(f"data = Subset(data, range(rank, len(data), dist.get_world_size()))\n    {WHOLE}"), []),
        (of_ddp("loader = DataLoader(Stream(), 64)", before=STREAM), []),
        (of_ddp("loader = DataLoader(Share(), 64, shuffle=True)", before=SHARE), []),
        (of_ddp(model="torchvision.models.resnet18()"), []),
        (OF_TRAINER.replace("{made}", f"self.accelerator.prepare({PLAIN})"), []),
        (OF_LIGHTNING.replace("{on}", "True"), []),
        (DRAWN.replace("{rank}", " + rank"), []),
        (of_accelerate(), []),
    ],
)  # fmt: skip
def test_loaders_that_give_every_process_all_of_the_data(text, said):
    assert severities(d133, "train.py", text) == said


LISTED = "    scores.extend(predicted.tolist())\n"
COUNTED = "    right += (predicted == batch['labels']).sum().item()\n"
OWN = f"def score(model, loader, metric):\n{indent(SCORED.format(add=ALONE).replace('valid_loader', 'loader'), '    ')}"


@for_each(
    ("text", "said"),
    [
        (of_accelerate(evaluation=SCORED.format(add=ALONE)), ["warning"]),
        (of_accelerate(evaluation="scores = []\n" + SCORED.format(add=LISTED)), ["warning"]),
        (of_accelerate(evaluation="right = 0\n" + SCORED.format(add=COUNTED)), ["warning"]),
        (of_accelerate(evaluation="score(model, valid_loader, metric)", before=OWN), ["warning"]),
        (of_accelerate(evaluation=f"scores = []\n{SCORED.format(add=LISTED)}if accelerator.is_main_process:\n"
                       "    print(sum(scores))"), ["warning"]),
        (of_accelerate(), []),
        (of_accelerate(evaluation=f"right = 0\n{SCORED.format(add=COUNTED)}right = accelerator.reduce(right)"), []),
        (of_accelerate("model, optimizer, train_loader", evaluation=SCORED.format(add=ALONE)), []),
    ],
)  # fmt: skip
def test_metrics_of_one_process(text, said):
    assert severities(d123, "train.py", text) == said


LOADED = (
    "import torch\nfrom torch.nn.parallel import DistributedDataParallel\n"
    "from transformers import AutoModelForCausalLM\n"
    "model = AutoModelForCausalLM.from_pretrained('gpt2')\n"
)
WRAPPED = "if torch.cuda.device_count() > 1:\n    model = torch.nn.DataParallel(model)\n"


@for_each(
    ("text", "said"),
    [
        (LOADED + "model = DistributedDataParallel(model)\nmodel.save_pretrained('out')\n", ["error"]),
        (LOADED + "model = DistributedDataParallel(model, device_ids=[0])\nmodel.generate(ids)\n", ["error"]),
        (LOADED + "model = torch.nn.DataParallel(model).cuda()\nmodel.push_to_hub('me/it')\n", ["error"]),
        (LOADED + "class Run:\n    def __init__(self, model):\n        self.model = torch.nn.DataParallel(model)\n"
         "    def save(self):\n        self.model.save_pretrained('out')\nRun(model).save()\n", ["error"]),
        (LOADED + "model = DistributedDataParallel(model)\nmodel.config.use_cache = False\n", ["error"]),
        (LOADED + "model.config.use_cache = False\nmodel = DistributedDataParallel(model)\n", []),
        (LOADED + WRAPPED + "model.save_pretrained('out')\n", ["warning"]),
        (of_accelerate(saved="model.save_pretrained('out')"), ["warning"]),
        (of_accelerate(saved="if accelerator.is_main_process:\n    model.push_to_hub('me/it')"), ["warning"]),
        (of_accelerate(), []),
        (LOADED + "model = DistributedDataParallel(model)\nmodel.module.save_pretrained('out')\n", []),
        (LOADED + "raw = model\nmodel = DistributedDataParallel(raw)\nraw.save_pretrained('out')\n", []),
        (LOADED + "model = torch.compile(model)\nmodel.save_pretrained('out')\n", []),
        (LOADED + WRAPPED + "(model.module if hasattr(model, 'module') else model).save_pretrained('out')\n", []),
        (of_accelerate(saved="AutoModelForSequenceClassification.from_pretrained('x').save_pretrained('y')"), []),
    ],
)  # fmt: skip
def test_methods_that_a_wrapper_lacks(text, said):
    assert severities(p121, "train.py", text) == said
