"""Rules for tips that scripts show: further inputs of each kind, and twins that are right."""

from textwrap import dedent

import pytest

from tests.checks.rules.findings import severities
from tests.for_each import for_each
from trimtab.checks.rules import (
    d111_text_lines_squeezed_to_a_square,
    k112_checkpoint_may_run_code,
    l112_label_smoothing_the_loss_ignores,
    m312_batch_norm_on_few_examples,
    m320_image_transformer_on_few_images,
    p309_tensor_made_on_the_host,
    p310_convolutions_in_nchw,
    p311_tf32_never_turned_on,
    s124_no_clipping_from_scratch,
    s144_decay_on_norms_and_biases,
    s145_short_last_window,
    x106_products_of_bytes_saturate,
)


def fires(rule, text):
    told = severities(rule, "train.py", dedent(text))
    assert set(told) <= {"note"}
    return len(told) > 0


LOAD = "import torch\nmodel = torch.nn.Linear(2, 2)\n{}\n"


@for_each(
    ("lines", "told"),
    [
        ('model.load_state_dict(torch.load("a.pt", weights_only=False))', True),
        ('s = torch.load("a.pt", map_location="cpu", weights_only=False)\nmodel.load_state_dict(s)', True),
        ('s = torch.load("a.pt", weights_only=False)\nmodel.load_state_dict(s["model"])', True),
        ('s = torch.load("a.pt", weights_only=False)\nmodel.load_state_dict(s["ema"], strict=False)', True),
        ('def load():\n    model.load_state_dict(torch.load("a.pt", weights_only=False))', True),
        ('model.load_state_dict(torch.load("a.pt", weights_only=True))', False),
        ('model.load_state_dict(torch.load("a.pt"))', False),
        ('model = torch.load("a.pt", weights_only=False)\nmodel.eval()', False),
        ('model.load_state_dict(torch.load("a.pt", weights_only=args.safe))', False),
    ],
)
def test_a_pickle_is_opened_for_its_weights_alone(lines, told):
    assert fires(k112_checkpoint_may_run_code, LOAD.format(lines)) is told


LOOP = (
    "for x, y in loader:\n    loss(model(x), y).backward()\n    optimizer.step()\n    optimizer.zero_grad()\n"
)
OWN = "import torch\nfrom model import GPT\nmodel = GPT()\noptimizer = {}\n" + LOOP


@for_each(
    ("optimizer", "told"),
    [
        ("torch.optim.AdamW(model.parameters(), lr=6e-4, weight_decay=0.1)", True),
        ("torch.optim.AdamW(model.parameters(), 6e-4, weight_decay=0.3)", True),
        ("torch.optim.AdamW(params=model.parameters(), weight_decay=0.2)", True),
        ("torch.optim.AdamW(model.cuda().parameters(), weight_decay=0.1)", True),
        ("torch.optim.AdamW(torch.compile(model).parameters(), weight_decay=0.1)", True),
        ("torch.optim.AdamW(model.parameters(), lr=6e-4)", False),
        ("torch.optim.AdamW(model.parameters(), lr=6e-4, weight_decay=0.05)", False),
        ("torch.optim.AdamW(groups(model), lr=6e-4, weight_decay=0.1)", False),
        ("torch.optim.AdamW(model.parameters(), weight_decay=decay)", False),
        ("torch.optim.SGD(model.parameters(), 0.1, weight_decay=0.1)", False),
    ],
)
def test_decay_is_for_matrices(optimizer, told):
    assert fires(s144_decay_on_norms_and_biases, OWN.format(optimizer)) is told


def test_a_pretrained_model_may_decay_whole():
    text = OWN.format("torch.optim.AdamW(model.parameters(), weight_decay=0.1)")
    loaded = "from transformers import AutoModel\nmodel = AutoModel.from_pretrained('bert-base-uncased')"
    assert not fires(
        s144_decay_on_norms_and_biases, text.replace("from model import GPT\nmodel = GPT()", loaded)
    )


@for_each(
    ("text", "told"),
    [
        ("import lightning as L\nL.Trainer(accumulate_grad_batches=4).fit(m, d)", True),
        ("import lightning as L\nt = L.Trainer(accumulate_grad_batches=8, max_epochs=2)\nt.fit(m, d)", True),
        ("from lightning.pytorch import Trainer\nTrainer(accumulate_grad_batches=2).fit(m, d)", True),
        (
            "import pytorch_lightning as pl\nt = pl.Trainer(accumulate_grad_batches=16)\nt.fit(m, datamodule=d)",
            True,
        ),
        (
            "import lightning as L\ndef main():\n    t = L.Trainer(accumulate_grad_batches=4)\n    t.fit(m)\nmain()",
            True,
        ),
        ("import lightning as L\nL.Trainer(accumulate_grad_batches=1).fit(m, d)", False),
        ("import lightning as L\nL.Trainer(accumulate_grad_batches=n).fit(m, d)", False),
        (
            "import lightning as L\nL.Trainer(accumulate_grad_batches=4, limit_train_batches=8).fit(m, d)",
            False,
        ),
        ("import lightning as L\nL.Trainer(accumulate_grad_batches=4).test(m, d)", False),
        ("from mine import Trainer\nimport torch\nTrainer(accumulate_grad_batches=4).fit(m, d)", False),
    ],
)
def test_lightning_divides_the_last_window_of_an_epoch_as_a_whole_one(text, told):
    assert fires(s145_short_last_window, text) is told


@for_each(
    ("line", "told"),
    [
        ('torch.zeros(4, 4).to("cuda")', True),
        ("torch.randn(8, 4).cuda()", True),
        ("torch.arange(n).to(device)", True),
        ('torch.ones(4).to(device="cuda:1")', True),
        ("torch.full((2,), 3).to(args.device)", True),
        ('torch.zeros(4, 4, device="cuda")', False),
        ('torch.zeros(4, 4).to("cpu")', False),
        ("torch.randn(8, generator=g).cuda()", False),
        ("torch.zeros(4).to(torch.float16)", False),
        ("torch.tensor([1, 2]).cuda()", False),
    ],
)
def test_a_tensor_made_on_the_host_in_each_turn(line, told):
    assert (
        fires(p309_tensor_made_on_the_host, f"import torch\nfor step in range(9):\n    use({line})\n") is told
    )
    assert not fires(p309_tensor_made_on_the_host, f"import torch\nuse({line})\n")


CONV = (
    "import torch\nimport timm\nimport torchvision\nnet = {}\noptimizer = torch.optim.SGD(net.parameters(), 0.1)\n"
    "for x, y in loader:\n    with torch.autocast({}):\n        loss = f(net(x), y)\n    loss.backward()\n"
    "    optimizer.step()\n"
)


@for_each(
    ("net", "where", "told"),
    [
        ("torchvision.models.resnet50()", '"cuda", dtype=torch.bfloat16', True),
        ("torchvision.models.convnext_tiny(weights=None).cuda()", '"cuda"', True),
        ("torchvision.models.efficientnet_b0()", 'device_type="cuda"', True),
        ('timm.create_model("resnet18")', '"cuda"', True),
        ('timm.create_model("convnextv2_base", pretrained=True)', '"cuda", torch.float16', True),
        ("torchvision.models.resnet50().to(memory_format=torch.channels_last)", '"cuda"', False),
        ("torchvision.models.vit_b_16()", '"cuda"', False),
        ('timm.create_model("vit_base_patch16_224")', '"cuda"', False),
        ("torchvision.models.resnet50()", '"cpu", dtype=torch.bfloat16', False),
        ("build()", '"cuda"', False),
    ],
)
def test_convolutions_in_16_bits_want_channels_last(net, where, told):
    assert fires(p310_convolutions_in_nchw, CONV.format(net, where)) is told


FP32 = (
    "import torch\nfrom transformers import AutoModelForCausalLM, T5ForConditionalGeneration\n{}\n"
    "optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)\nfor b in loader:\n    model(**b).loss.backward()\n"
    "    optimizer.step()\n    optimizer.zero_grad()\n"
)


@for_each(
    ("model", "told"),
    [
        ('model = AutoModelForCausalLM.from_pretrained("gpt2").cuda()', True),
        ('model = AutoModelForCausalLM.from_pretrained("gpt2")\nmodel.to("cuda")', True),
        ('model = T5ForConditionalGeneration.from_pretrained("t5-small").to("cuda:0")', True),
        ('model = AutoModelForCausalLM.from_pretrained("gpt2")\nmodel.train()\nmodel.cuda()', True),
        ('model = AutoModelForCausalLM.from_pretrained("gpt2").to(device="cuda")', True),
        ('model = AutoModelForCausalLM.from_pretrained("gpt2")', False),
        ('model = AutoModelForCausalLM.from_pretrained("gpt2").to("cpu")', False),
        ('model = AutoModelForCausalLM.from_pretrained("gpt2", dtype=torch.bfloat16).cuda()', False),
        (
            'torch.backends.cuda.matmul.allow_tf32 = True\nmodel = AutoModelForCausalLM.from_pretrained("gpt2").cuda()',
            False,
        ),
        ("model = mine().cuda()", False),
    ],
)
def test_fp32_without_tensor_cores(model, told):
    assert fires(p311_tf32_never_turned_on, FP32.format(model)) is told


IMAGES = (
    "import timm\nimport torchvision\nfrom transformers import Trainer, ViTConfig, ViTForImageClassification, "
    "SwinConfig, SwinForImageClassification\ndata = torchvision.datasets.{}('.')\nmodel = {}\n"
    "Trainer(model=model, train_dataset=data).train()\n"
)


@for_each(
    ("data", "model", "told"),
    [
        ("CIFAR10", "ViTForImageClassification(ViTConfig(num_labels=10))", True),
        ("CIFAR100", "SwinForImageClassification(SwinConfig())", True),
        ("MNIST", "torchvision.models.vit_b_16()", True),
        ("FashionMNIST", "torchvision.models.swin_t(weights=None)", True),
        ("SVHN", 'timm.create_model("vit_tiny_patch16_224", pretrained=False)', True),
        ("CIFAR10", 'ViTForImageClassification.from_pretrained("google/vit-base-patch16-224")', False),
        ("ImageNet", "torchvision.models.vit_b_16()", False),
        ("MNIST", "torchvision.models.resnet18()", False),
        ("CIFAR10", 'torchvision.models.vit_b_16(weights="DEFAULT")', False),
        ("SVHN", 'timm.create_model("vit_tiny_patch16_224", pretrained=True)', False),
    ],
)
def test_an_image_transformer_needs_many_images(data, model, told):
    assert fires(m320_image_transformer_on_few_images, IMAGES.format(data, model)) is told


BYTES = "from onnxruntime.quantization import QuantType, quantize_dynamic, quantize_static\n{}\n"


@for_each(
    ("call", "told"),
    [
        ("quantize_static(a, b, r, activation_type=QuantType.QUInt8, weight_type=QuantType.QInt8)", True),
        ("quantize_static(a, b, r, activation_type=QuantType.QUInt8)", True),
        ("quantize_static(a, b, r, activation_type=QuantType.QUInt8, reduce_range=False)", True),
        ("quantize_static(a, b, r, activation_type=QuantType.QUInt8, per_channel=True)", True),
        ("def main():\n    quantize_static(a, b, r, activation_type=QuantType.QUInt8)", True),
        ("quantize_static(a, b, r, activation_type=QuantType.QInt8, weight_type=QuantType.QInt8)", False),
        ("quantize_static(a, b, r, activation_type=QuantType.QUInt8, reduce_range=True)", False),
        ("quantize_static(a, b, r, activation_type=QuantType.QUInt8, weight_type=QuantType.QUInt8)", False),
        ("quantize_static(a, b, r)", False),
        ("quantize_static(a, b, r, activation_type=QuantType.QUInt8, weight_type=kind)", False),
    ],
)
def test_products_of_unsigned_and_signed_bytes(call, told):
    assert fires(x106_products_of_bytes_saturate, BYTES.format(call)) is told


TROCR = (
    "from transformers import Seq2SeqTrainer, TrOCRProcessor, VisionEncoderDecoderModel\n"
    'processor = TrOCRProcessor.from_pretrained("{name}"{more})\n'
    "Seq2SeqTrainer(model=model, args=args, train_dataset=data).train()\n"
)


@for_each(
    ("name", "more", "expected"),
    [
        ("microsoft/trocr-base-printed", "", ["note"]),
        ("microsoft/trocr-small-handwritten", ", use_fast=True", ["note"]),
        ("microsoft/trocr-base-printed", ", size={'height': 64, 'width': 768}", []),
        ("microsoft/trocr-base-printed", ", do_resize=False", []),
        ("me/my-own-processor", "", []),
    ],
)
def test_published_processors_of_text_lines_are_known_to_be_square(name, more, expected):
    text = TROCR.format(name=name, more=more)
    assert severities(d111_text_lines_squeezed_to_a_square, "train.py", text) == expected


def test_a_processor_that_only_reads_is_left_alone():
    text = TROCR.format(name="microsoft/trocr-base-printed", more="").partition("Seq2SeqTrainer(")[0]
    assert severities(d111_text_lines_squeezed_to_a_square, "read.py", text) == []


LIGER = "from liger_kernel.transformers import LigerFusedLinearCrossEntropyLoss as L\nloss = L({arguments})\n"


@for_each(
    ("arguments", "versions", "expected"),
    [
        ("label_smoothing=0.1", "liger-kernel=0.2.1", ["error"]),
        ("label_smoothing=0.1", "liger-kernel=0.3.0", []),
        ("label_smoothing=0.1", "", []),
        ("label_smoothing=0.0", "liger-kernel=0.2.1", []),
        ("ignore_index=0", "liger-kernel=0.2.1", []),
    ],
)
def test_ligers_fused_loss_took_no_label_smoothing_at_first(arguments, versions, expected):
    text = LIGER.format(arguments=arguments)
    assert severities(l112_label_smoothing_the_loss_ignores, "train.py", text, versions=versions) == expected


RECIPE = (
    "task: translation\ndata:\n  train: [{{source: a.en, target: a.de}}]\n  valid: {{source: b.en, target: b.de}}\n"
    "model: {{preset: tiny}}\nstep: {{tokens_per_step: 16384, clip: {clip}}}\nlength: 20000 steps\n"
)


@pytest.mark.parametrize(
    ("clip", "expected"),
    [("{kind: off}", ["note"]), ("{kind: global_norm, at: 1.0}", [])],
)
def test_a_recipe_that_switches_clipping_off_is_noted(clip, expected):
    assert severities(s124_no_clipping_from_scratch, "recipe.yaml", RECIPE.format(clip=clip)) == expected


NORMED = (
    "import torch\nfrom torch import nn\nfrom accelerate import Accelerator\nfrom torch.utils.data import DataLoader\n"
    "accelerator = Accelerator(gradient_accumulation_steps=16)\n"
    "net = nn.Sequential(nn.Conv2d(3, 8, 3, bias=False), nn.BatchNorm2d(8))\n{loaders}"
)


@for_each(
    ("loaders", "expected"),
    [
        ("loader = DataLoader(data, batch_size=2)\n", ["note"]),
        (
            "loader = DataLoader(data, batch_size=2, shuffle=True)\nother = DataLoader(data, batch_size=64)\n",
            ["note"],
        ),
        ("loader = DataLoader(data, batch_size=64)\n", []),
        ("loader = DataLoader(data, batch_size=2, shuffle=False)\n", []),
        ("loader = DataLoader(data, batch_size=2)\nother = DataLoader(data, batch_size=2)\n", []),
    ],
)
def test_a_loader_that_is_alone_is_the_one_for_training(loaders, expected):
    text = NORMED.format(loaders=loaders)
    assert severities(m312_batch_norm_on_few_examples, "train.py", text) == expected
