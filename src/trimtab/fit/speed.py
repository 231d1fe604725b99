"""How fast a run may be: a roofline of products, memory traffic and launches. An estimate, and called one."""

from dataclasses import dataclass

from trimtab.fit import constants
from trimtab.fit.gpus import Gpu
from trimtab.fit.optimizer_memory import kept_bytes
from trimtab.fit.plan import Plan, is_released


@dataclass(frozen=True, slots=True)
class Speed:
    """Estimated seconds of a step, and tokens of source and target in each second of it."""

    seconds: float
    tokens_per_second: float


def speed_of(plan: Plan, gpu: Gpu) -> Speed:
    """The estimate for a GPU of the table."""
    run = plan.run
    slots, how = run.slots, run.how
    rate = gpu.teraflops * 1e12 * constants.GEMM_SHARE / (8 if how.is_whole else 1)
    bandwidth = gpu.gigabytes_per_second * 1e9 * constants.BANDWIDTH_SHARE
    products = operations(plan) / rate
    moved = constants.PASSES[how.compiled] * sum(plan.activations.values()) / bandwidth
    launches = 0.0
    if not run.recorded:
        layers = sum(stack.layers for stack in run.shape.stacks)
        launches = constants.LAUNCH_S * constants.KERNELS_OF_LAYER[how.compiled] * layers
    micro_batch = max(products + moved, launches)
    trained = [each for each in run.shape.weights if each.trained]
    states = kept_bytes(run.recipe.step.optimizer, trained, lambda size: size)
    weights = sum(each.numbers * how.weight for each in trained)
    gradients = sum(each.numbers * how.weight for each in trained)
    update = (2 * states + 3 * weights + 3 * gradients) / bandwidth
    seconds = slots.micro_batches * micro_batch + update
    real = (slots.target + slots.source) * slots.micro_batches / 1.05  # a twentieth of the slots is slack
    return Speed(seconds, real / seconds)


def operations(plan: Plan) -> float:
    """Additions and multiplications of a micro-batch: 6 for each weight of a linear map and token, 4 where it is
    frozen, and those of attention over segments of the greatest length; with what is computed again, and with a second
    backward pass where there is one."""
    run = plan.run
    again = {"none": 0.0, "feed_forward": 0.0, "block": 2.0}[run.how.recompute]
    backward = 2.0 if is_released(run) and run.recipe.step.clip.kind == "global_norm" else 1.0
    of_output = 6.0 if backward == 1 else 12.0  # the loss makes both gradients again
    total = of_output * run.shape.rows * run.shape.dim * run.slots.targets
    for stack in run.shape.stacks:
        layer = stack.layer
        tokens = run.slots.source if stack.reads_source else run.slots.target
        sides = layer.dim * (layer.query_width + 2 * layer.key_width) + layer.query_width * layer.dim
        inner = layer.feed_forward * layer.dim * (3 if layer.gated else 2)
        own = sides + inner
        factor = 2.0 + backward * ((2.0 if layer.frozen else 4.0) + again)
        if run.how.recompute == "feed_forward":
            wide = layer.feed_forward * layer.dim * (2 if layer.gated else 1)
            total += stack.layers * tokens * backward * 2.0 * wide
        adapters = sum(width * (layer.dim + layer.feed_forward) for _, width in layer.adapters)
        attended = 6.0 * layer.query_width * run.slots.longest * (2 if stack.reads_source else 1)
        total += stack.layers * tokens * (factor * own + 6.0 * adapters + attended)
        if layer.cross:
            of_target = 2 * layer.dim * layer.query_width
            of_source = 2 * layer.dim * layer.key_width
            total += stack.layers * factor * (tokens * of_target + run.slots.source * of_source)
            total += stack.layers * tokens * 12.0 * layer.query_width * run.slots.longest
    return total
