"""S172 engine-steps-too-rarely"""

from collections.abc import Iterator

from trimtab.checks.description import Description
from trimtab.checks.evidence import Arithmetic, Maintainer
from trimtab.checks.read.flow.accelerators import engine_accumulation
from trimtab.checks.read.flow.loops import training_loops
from trimtab.checks.read.flow.of import flow_of
from trimtab.checks.read.flow.periods import turn_of_event
from trimtab.checks.read.flow.values import walk
from trimtab.checks.rule import Diagnosis, Example, Fix, Rule

_SCRIPT = (
    "import deepspeed\nfrom net import Net\nnet = Net()\n"
    "config = {{'train_micro_batch_size_per_gpu': 2, 'gradient_accumulation_steps': 8,\n"
    "          'optimizer': {{'type': 'AdamW', 'params': {{'lr': 1e-4}}}}}}\n"
    "engine, _, _, _ = deepspeed.initialize(model=net, model_parameters=net.parameters(), config=config)\n"
    "for i, (x, y) in enumerate(loader):\n    engine.backward(engine(x, y))\n{step}"
)

RULE = Rule(
    code="S172",
    name="engine-steps-too-rarely",
    severity="error",
    message="`step()` is called every {period} batches, and DeepSpeed updates the weights at every {size} such calls: "
    "updates come {size} times too rarely",
    why="`engine.step()` belongs after every `engine.backward(loss)`: it counts its own calls and updates the weights "
    "at every `gradient_accumulation_steps`-th one. If the script skips calls too, the two counts multiply.",
    evidence=(
        Maintainer(
            "https://github.com/deepspeedai/DeepSpeedExamples/issues/565",
            "'when call model.step(), the engine will count the step and update the model when total_step % "
            "accumuate_step == 0'.",
        ),
        Arithmetic("With 8 in both places, the weights are updated once every 8 * 8 = 64 batches."),
    ),
    fix=Fix(
        "call `engine.step()` after every `engine.backward(loss)`, or set `gradient_accumulation_steps` to 1"
    ),
    bad=Example("train.py", _SCRIPT.format(step="    if (i + 1) % 8 == 0:\n        engine.step()\n")),
    good=Example("train.py", _SCRIPT.format(step="    engine.step()\n")),
    symptoms=(
        "loss falls slowly with DeepSpeed",
        "weights change too rarely",
        "number of steps is too small",
    ),
)


def check(run: Description) -> Iterator[Diagnosis]:
    """The step of an engine in a branch that counts turns, where the script writes an accumulation above 1 for it."""
    flow = flow_of(run.document)
    size = engine_accumulation(flow)
    if size is None or size.constant == 1:
        return
    for loop in training_loops(flow):
        for event in loop.called("step"):
            is_engine = any(each.name == "deepspeed.initialize" for each in walk(event.subject, most=6))
            turn = turn_of_event(event, loop.block) if is_engine else None
            if turn is None or event.value.args:
                continue
            period = turn.period
            is_same = period is size or (isinstance(size.constant, int) and size.constant == period.constant)
            if is_same:
                said = f"{size.constant}" if isinstance(size.constant, int) else "so many"
                yield RULE.at(event.place, period=said, size=said)
                return
