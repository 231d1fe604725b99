from tests.checks.read.flow.following import flow
from trimtab.checks.read.flow.loops import is_step, stepped, training_loops

LOOP = """
import torch
optimizer = torch.optim.SGD(model.parameters(), lr=1)
scaler = torch.amp.GradScaler()
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
for epoch in range(3):
    for i, x in enumerate(loader):
        scaler.scale(model(x)).backward()
        if i % 4 == 0:
            scaler.step(optimizer)
            scheduler.step()
    for x in valid:
        model(x)
"""


def test_a_training_loop_is_the_innermost_around_a_backward_pass():
    (loop,) = training_loops(flow(LOOP))
    assert loop.backward.place.line == 8
    assert [event.place.line for event in loop.steps()] == [10]
    assert [event.place.line for event in loop.schedule_steps()] == [11]
    assert [event.name for event in loop.called("backward")] == ["backward"]
    assert loop.is_within_period(next(loop.steps()))
    assert not loop.is_within_period(loop.backward)


def test_the_optimizer_of_a_step_through_a_scaler():
    (loop,) = training_loops(flow(LOOP))
    assert stepped(next(loop.steps())).name == "torch.optim.SGD"


def test_a_step_with_a_closure_and_a_step_of_something_else_are_none():
    told = flow(
        "optimizer.step(closure)\nenv.step(action)\nprofiler.step()\nlr_scheduler.step()\noptimizer.step()"
    )
    assert [event.place.line for event in told.events if is_step(event)] == [5]
