"""What a loop of the script's own does in which order: further inputs of each kind, and twins that are right."""

from textwrap import dedent

from tests.checks.rules.findings import findings
from tests.for_each import for_each
from trimtab.checks.rules import (
    e108_evaluation_mode_left_on,
    e112_evaluation_with_gradients,
    s102_schedule_of_another_length,
    s137_gradients_never_cleared,
    s138_clip_after_step,
    s139_optimizer_of_old_weights,
    s141_loop_without_backward,
    s143_accumulated_loss_not_divided,
)

IMPORTS = (
    "import torch\nfrom torch import nn\nimport torch.nn.functional as F\n"
    "from transformers import AutoModelForCausalLM, get_linear_schedule_with_warmup\n"
)


def fires(rule, text):
    return len(findings(rule, "train.py", IMPORTS + dedent(text))) > 0


@for_each(
    "text",
    [
        """
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for x, y in loader:
            F.mse_loss(net(x), y).backward()
            opt.step()
        """,
        """
        def train(model, loader, optimizer):
            for x, y in loader:
                loss = model(x, y)
                loss.backward()
                optimizer.step()
        """,
        """
        class Runner:
            def __init__(self, model):
                self.optimizer = torch.optim.Adam(model.parameters())
                self.model = model
            def fit(self, loader):
                for x in loader:
                    self.model(x).backward()
                    self.optimizer.step()
        """,
        """
        scaler = torch.amp.GradScaler("cuda")
        optimizer = torch.optim.Adam(model.parameters())
        for x in loader:
            scaler.scale(model(x)).backward()
            scaler.step(optimizer)
            scaler.update()
        """,
        """
        optimizer = torch.optim.Adam(model.parameters())
        for x in loader:
            loss = model(x)
            loss.backward()
            optimizer.zero_grad()
            optimizer.step()
        """,
        """
        optimizer = torch.optim.Adam(model.parameters())
        while step < 1000:  # zero_grad is not called
            model(next(data)).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        """,
    ],
)
def test_gradients_that_are_never_cleared(text):
    assert fires(s137_gradients_never_cleared, text)


@for_each(
    "text",
    [
        """
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        for x, y in loader:
            net.zero_grad()
            F.mse_loss(net(x), y).backward()
            opt.step()
        """,
        """
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for x, y in loader:
            for p in net.parameters():
                p.grad = None
            F.mse_loss(net(x), y).backward()
            optimizer.step()
        """,
        """
        def update(optimizer, loss):
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        for x in loader:
            update(optimizer, model(x))
        """,
        """
        optimizer = torch.optim.LBFGS(model.parameters())
        for x in loader:
            def closure():
                loss = model(x)
                loss.backward()
                return loss
            optimizer.step(closure)
        """,
        """
        engine, _, _, _ = deepspeed.initialize(model=model)
        for x in loader:
            engine.backward(engine(x))
            engine.step()
        """,
        """
        opt_d, opt_g = torch.optim.Adam(d.parameters()), torch.optim.Adam(g.parameters())
        for x in loader:
            d(x).backward()
            opt_d.step()
            opt_g.zero_grad()
            opt_d.zero_grad()
            d(g(z)).backward()
            opt_g.step()
        """,
        """
        for x in loader:
            noise = x.detach().requires_grad_()
            optimizer = torch.optim.SGD([noise], lr=1)
            model(noise).backward()
            optimizer.step()
        """,
        """
        optimizer = torch.optim.Adam(model.parameters())
        for x in loader:
            model(x).backward()
            train_utils.finish(optimizer)
            optimizer.step()
        """,
    ],
)
def test_gradients_that_are_cleared_somewhere(text):
    assert not fires(s137_gradients_never_cleared, text)


CLIPPED = """
optimizer = torch.optim.Adam(model.parameters())
for i, x in enumerate(loader):
    optimizer.zero_grad()
    model(x).backward()
{}
"""


@for_each(
    "end",
    [
        "    optimizer.step()\n    nn.utils.clip_grad_norm_(model.parameters(), 1.0)",
        "    optimizer.step()\n    scheduler.step()\n    torch.nn.utils.clip_grad_norm_(model.parameters(), 1)",
        "    optimizer.step()\n    torch.nn.utils.clip_grad_value_(model.parameters(), 1)",
        "    if i % 2:\n        optimizer.step()\n        nn.utils.clip_grad_norm_(model.parameters(), 1)",
        "    scaler.step(optimizer)\n    scaler.update()\n    nn.utils.clip_grad_norm_(model.parameters(), 1)",
    ],
)
def test_clipping_behind_the_step(end):
    assert fires(s138_clip_after_step, CLIPPED.format(end))


@for_each(
    "end",
    [
        "    nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n    optimizer.step()",
        "    optimizer.step()\n    model(x).backward()\n    nn.utils.clip_grad_norm_(model.parameters(), 1)",
        "    nn.utils.clip_grad_norm_(g.parameters(), 1)\n    optimizer.step()\n"
        "    nn.utils.clip_grad_norm_(d.parameters(), 1)\n    other_optimizer.step()",
        "    nn.utils.clip_grad_norm_(model.parameters(), 1)\n    if i % 2:\n        optimizer.step()",
        "    clip(model)\n    optimizer.step()",
    ],
)
def test_clipping_before_the_step(end):
    assert not fires(s138_clip_after_step, CLIPPED.format(end))


MADE = """
model = AutoModelForCausalLM.from_pretrained("gpt2")
{}
for x in loader:
    model(**x).loss.backward()
    optimizer.step()
    optimizer.zero_grad()
"""
MAKE = "optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)"


@for_each(
    "lines",
    [
        f"{MAKE}\ntokenizer.add_tokens(['a'])\nmodel.resize_token_embeddings(len(tokenizer))",
        f"{MAKE}\nmodel = get_peft_model(model, config)",
        f"{MAKE}\nmodel = FullyShardedDataParallel(model)",
        f"{MAKE}\nmodel.lm_head = nn.Linear(768, 10)",
        f"{MAKE}\nmodel.add_adapter(config)",
        f"{MAKE}\nmodel.resize_token_embeddings(50304)",
    ],
)
def test_optimizers_that_are_made_too_early(lines):
    imports = "from peft import get_peft_model\nfrom torch.distributed.fsdp import FullyShardedDataParallel\n"
    assert fires(s139_optimizer_of_old_weights, imports + MADE.format(lines))


@for_each(
    "lines",
    [
        f"tokenizer.add_tokens(['a'])\nmodel.resize_token_embeddings(len(tokenizer))\n{MAKE}",
        f"{MAKE}\nmodel = torch.compile(model.cuda())",
        f"{MAKE}\nmodel = nn.DataParallel(model)",
        f"{MAKE}\nmodel = get_peft_model(model, config)\n{MAKE}",
        f"{MAKE}\nother.head = nn.Linear(1, 1)",
        f"{MAKE}\nmodel.resize_token_embeddings(len(tokenizer))",
        f"{MAKE}\nmodel.head = nn.Linear(1, 1)\noptimizer.add_param_group({{'params': model.head.parameters()}})",
    ],
)
def test_optimizers_that_have_all_weights(lines):
    assert not fires(s139_optimizer_of_old_weights, "from peft import get_peft_model\n" + MADE.format(lines))


EPOCHS = """
model = nn.Sequential(nn.Linear(8, 8), nn.Dropout(0.1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
{}
"""
STEP = "optimizer.zero_grad()\n        model(x).sum().backward()\n        optimizer.step()"


@for_each(
    "text",
    [
        f"model.train()\nfor epoch in range(3):\n    for x in loader:\n        {STEP}\n    model.eval()\n"
        "    with torch.no_grad():\n        check(model(v))",
        f"def test():\n    model.eval()\n    return model(v)\n\nfor epoch in range(3):\n    for x in loader:\n"
        f"        {STEP}\n"
        "    test()",
        f"for epoch in range(3):\n    for x in loader:\n        {STEP}\n    model.train(False)\n    check(model(v))",
        f"for epoch in range(3):\n    model.eval()\n    for x in loader:\n        {STEP}",
        f"model.train()\nfor i in range(9):\n    for x in loader:\n        {STEP}\n"
        "        if i % 100 == 0:\n            model.eval()\n            check(model(v))",
    ],
)
def test_evaluation_mode_that_stays(text):
    assert fires(e108_evaluation_mode_left_on, EPOCHS.format(text))


@for_each(
    "text",
    [
        f"for epoch in range(3):\n    model.train()\n    for x in loader:\n        {STEP}\n    model.eval()\n"
        "    check(model(v))",
        f"def test():\n    model.eval()\n    r = model(v)\n    model.train()\n    return r\n\n"
        f"for epoch in range(3):\n    for x in loader:\n        {STEP}\n    test()",
        "for epoch in range(3):\n    for phase in ['train', 'val']:\n        if phase == 'train':\n"
        "            model.train()\n        else:\n            model.eval()\n        for x in loaders[phase]:\n"
        "            optimizer.zero_grad()\n            loss = model(x).sum()\n            if phase == 'train':\n"
        "                loss.backward()\n                optimizer.step()",
        f"teacher.eval()\nfor epoch in range(3):\n    teacher.eval()\n    for x in loader:\n        {STEP}",
        f"for epoch in range(3):\n    for x in loader:\n        {STEP}\nmodel.eval()\ncheck(model(v))",
        f"def run(x, training):\n    model.train(training)\n    return model(x)\n\nfor epoch in range(3):\n"
        f"    for x in loader:\n        {STEP}\n    run(v, False)\n    run(v, True)",
        f"for epoch in range(3):\n    for x in loader:\n        {STEP}\n    if epoch == 2:\n        model.eval()\n"
        "        break",
    ],
)
def test_evaluation_mode_that_is_taken_back_or_meant(text):
    assert not fires(e108_evaluation_mode_left_on, EPOCHS.format(text))


ACCUMULATED = """
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
scheduler = {made}
for i, x in enumerate(loader):
    loss = model(x) / 4
    loss.backward()
{end}
"""
LINEAR = "get_linear_schedule_with_warmup(optimizer, 100, 1000)"
STEPS = "    if (i + 1) % 4 == 0:\n        optimizer.step()\n        optimizer.zero_grad()\n"


@for_each(
    ("made", "end"),
    [
        (LINEAR, STEPS + "    scheduler.step()"),
        (LINEAR, "    scheduler.step()\n" + STEPS),
        ("torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=500)", STEPS + "    scheduler.step()"),
        (
            "get_linear_schedule_with_warmup(optimizer, num_warmup_steps=10, num_training_steps=len(loader) // 4)",
            STEPS + "    scheduler.step()",
        ),
        (
            "torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1e-3, total_steps=1000)",
            STEPS.replace("(i + 1) % 4 == 0", "not (i + 1) % 4") + "    scheduler.step()",
        ),
    ],
)
def test_a_schedule_that_steps_with_every_micro_batch(made, end):
    assert fires(s102_schedule_of_another_length, ACCUMULATED.format(made=made, end=end))


@for_each(
    ("made", "end"),
    [
        (LINEAR, STEPS + "        scheduler.step()"),
        (
            "get_linear_schedule_with_warmup(optimizer, 100, 3 * len(loader))",
            STEPS + "    scheduler.step()",
        ),
        (LINEAR, "    optimizer.step()\n    optimizer.zero_grad()\n    scheduler.step()"),
        ("make_schedule(optimizer)", STEPS + "    scheduler.step()"),
        (LINEAR, STEPS + "    if i % 1000 == 0:\n        scheduler.step()"),
    ],
)
def test_a_schedule_that_steps_with_the_optimizer_or_counts_micro_batches(made, end):
    assert not fires(s102_schedule_of_another_length, ACCUMULATED.format(made=made, end=end))


LOADED = 'model = AutoModelForCausalLM.from_pretrained("gpt2")\n'
SAVED = '\nmodel.save_pretrained("out")\n'


@for_each(
    "loop",
    [
        "for x in loader:\n    model(**x, labels=x['y'])",
        "for i in range(100):\n    loss = model(input_ids=x, labels=x).loss\n    print(loss)",
        "optimizer = torch.optim.SGD(model.parameters())\nfor x in loader:\n    loss = model(x, labels=x)[0]\n"
        "    optimizer.step()",
        "while True:\n    out = model(input_ids=x, labels=x)",
        "def run(net):\n    for x in loader:\n        net(x, labels=x)\n\nrun(model)",
    ],
)
def test_loops_that_train_nothing(loop):
    assert fires(s141_loop_without_backward, LOADED + loop + SAVED)


@for_each(
    "loop",
    [
        "for x in loader:\n    model(x, labels=x).loss.backward()",
        "with torch.no_grad():\n    for x in loader:\n        model(x, labels=x)",
        "for x in loader:\n    model(x)",
        "for x in loader:\n    train_step(model, model(x, labels=x))",
        "for x in loader:\n    grads = torch.autograd.grad(model(x, labels=x).loss, p)",
    ],
)
def test_loops_that_train_or_measure(loop):
    assert not fires(s141_loop_without_backward, LOADED + loop + SAVED)


APART = """
def bad(model, loader, optimizer):
    for x in loader:
        model(x).backward()
        optimizer.step()
def good(model, loader, optimizer):
    for x in loader:
        {clear}
        model(x).backward()
        optimizer.step()
{more}
"""


@for_each(
    ("clear", "more", "told"),
    [
        ("optimizer.zero_grad()", "", True),
        ("optimizer.zero_grad(set_to_none=True)", "good(m, l, o)", True),
        ("for p in model.parameters(): p.grad = None", "", False),
        ("optimizer.zero_grad()", "def reset(o):\n    o.zero_grad()\n\nhooks.append(reset)", False),
        ("optimizer.zero_grad()", "o.zero_grad()", False),
    ],
)
def test_gradients_that_only_another_function_clears(clear, more, told):
    assert fires(s137_gradients_never_cleared, APART.format(clear=clear, more=more)) is told


SUMMED = """
optimizer = torch.optim.{optimizer}(model.parameters(), lr=0.1)
for i, (x, y) in enumerate(loader):
    loss = {loss}
    {backward}
    {end}
"""
PERIOD = "if (i + 1) % 4 == 0:\n        optimizer.step()\n        optimizer.zero_grad()"


@for_each(
    ("optimizer", "loss", "backward", "end", "told"),
    [
        ("SGD", "F.cross_entropy(model(x), y)", "loss.backward()", PERIOD, ["warning"]),
        ("AdamW", "F.cross_entropy(model(x), y)", "loss.backward()", PERIOD, ["note"]),
        ("SGD", "nn.CrossEntropyLoss()(model(x), y)", "loss.backward()", PERIOD, ["warning"]),
        (
            "SGD",
            "F.cross_entropy(model(x), y)",
            "torch.amp.GradScaler().scale(loss).backward()",
            PERIOD,
            ["warning"],
        ),
        (
            "SGD",
            "AutoModelForCausalLM.from_pretrained('a')(x, labels=y).loss",
            "loss.backward()",
            PERIOD,
            ["warning"],
        ),
        ("SGD", "F.cross_entropy(model(x), y) / 4", "loss.backward()", PERIOD, []),
        ("SGD", "F.cross_entropy(model(x), y)", "(loss / 4).backward()", PERIOD, []),
        ("SGD", "F.cross_entropy(model(x), y, reduction='sum')", "loss.backward()", PERIOD, []),
        ("SGD", "model(x)", "loss.backward()", PERIOD, []),
        (
            "SGD",
            "F.cross_entropy(model(x), y)",
            "loss.backward()",
            "optimizer.step()\n    optimizer.zero_grad()",
            [],
        ),
    ],
)
def test_sums_of_means(optimizer, loss, backward, end, told):
    text = SUMMED.format(optimizer=optimizer, loss=loss, backward=backward, end=end)
    found = findings(s143_accumulated_loss_not_divided, "train.py", IMPORTS + text)
    assert [each.finding.severity for each in found] == told


EVALUATED = EPOCHS.format(
    f"for epoch in range(3):\n    model.train()\n    for x in loader:\n        {STEP}\n{{}}"
)


@for_each(
    ("lines", "told"),
    [
        ("    model.eval()\n    for x in valid:\n        count(model(x))", True),
        ("model.eval()\nfor x in valid:\n    y = model(x)\n    n = y.argmax()", True),
        ("def test():\n    model.eval()\n    for x in valid:\n        count(model(x))\n\ntest()", True),
        ("def test(net):\n    net.eval()\n    for x in valid:\n        count(net(x))\n\ntest(model)", True),
        ("model.eval()\nwhile True:\n    count(model(next(valid)))", True),
        (
            "    model.eval()\n    with torch.no_grad():\n        for x in valid:\n            count(model(x))",
            False,
        ),
        ("model.eval()\nfor x in valid:\n    with torch.inference_mode():\n        count(model(x))", False),
        (
            "@torch.no_grad()\ndef test():\n    model.eval()\n    for x in valid:\n        count(model(x))\n\ntest()",
            False,
        ),
        ("model.eval()\nfor x in valid:\n    model(x).sum().backward()\n    keep(x.grad)", False),
        ("model.eval()\ncount(model(v))", False),
        ("model.eval()\nfor x in valid:\n    count(other(x))", False),
    ],
)
def test_evaluations_and_their_gradients(lines, told):
    assert fires(e112_evaluation_with_gradients, EVALUATED.format(lines)) is told


@for_each(
    ("layers", "told"),
    [
        ("nn.Linear(8, 8), nn.Dropout(0.1)", True),
        ("nn.Linear(8, 8), nn.BatchNorm1d(8)", True),
        ("nn.Linear(8, 8), nn.TransformerEncoderLayer(8, 2)", True),
        ("nn.Linear(8, 8), nn.ReLU()", False),
        ("nn.Linear(8, 8), nn.LayerNorm(8)", False),
    ],
)
def test_a_mode_matters_where_layers_have_one(layers, told):
    text = f"for x in loader:\n        {STEP}\n        model.eval()\n        check(model(v))"
    script = EPOCHS.format(text).replace("nn.Linear(8, 8), nn.Dropout(0.1)", layers).replace("    for", "for")
    assert fires(e108_evaluation_mode_left_on, script) is told
