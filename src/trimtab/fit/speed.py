"""How fast a run may be: a roofline of products, memory traffic and launches. An estimate, and called one."""

from dataclasses import dataclass, replace

from trimtab.config.optimizers import AdamW
from trimtab.fit import constants
from trimtab.fit.gpus import Gpu
from trimtab.fit.optimizer_memory import LEAST_NUMBERS, state_bytes
from trimtab.fit.plan import Plan, activations_of, all_copies
from trimtab.fit.planned_run import Run, is_released


@dataclass(frozen=True, slots=True)
class Speed:
    """Estimated seconds of a step, and tokens of source and target in each second of it."""

    seconds: float
    tokens_per_second: float


def speed_of(plan: Plan, gpu: Gpu) -> Speed:
    """The estimate for a GPU of the table."""
    run = plan.run
    slots, how = run.slots, run.how
    share = constants.RELEASED_GEMM_SHARE if is_released(run) else constants.GEMM_SHARE
    rate = gpu.teraflops * 1e12 * share / (8 if how.is_whole else 1)
    bandwidth = gpu.gigabytes_per_second * 1e9 * constants.BANDWIDTH_SHARE
    products = operations(plan) / rate
    moved = constants.PASSES[how.compiled] * written_bytes(plan) / bandwidth
    layers = sum(stack.layers for stack in run.shape.stacks)
    launches = 0.0 if run.recorded else launch_seconds(run, layers)
    passes = products + moved + weights_seconds(run, gpu) + constants.LAYER_S[how.compiled] * layers
    update, copies = update_seconds(run, gpu), offloaded_seconds(run)
    if is_released(run):  # states come and go during the backward pass
        seconds = max(released_seconds(run, products + moved, update), copies + update)
    else:
        seconds = slots.micro_batches * max(passes, launches) + update + copies
    real = (slots.target + slots.source) * slots.micro_batches / 1.05  # a twentieth of the slots is slack
    return Speed(seconds, run.ranks * real / seconds)


def launch_seconds(run: Run, layers: int) -> float:
    """Of the host for a micro-batch whose kernels it launches one by one."""
    how = run.how
    drawn = how.recompute == "block" and any(stack.layer.drops for stack in run.shape.stacks)
    again = constants.LAUNCHED_AGAIN[how.recompute] * (constants.DRAWN_AGAIN if drawn else 1.0)
    return constants.LAUNCH_S * constants.KERNELS_OF_LAYER[how.compiled] * again * layers


def written_bytes(plan: Plan) -> int:
    """Of activations, also of those that are not kept; where gradients are released, `RELEASED_GEMM_SHARE` has the
    traffic of these in it."""
    run = plan.run
    if run.how.recompute == "none" or is_released(run):
        return sum(plan.activations.values())
    return activations_of(replace(run, how=replace(run.how, recompute="none"))).total()


def weights_seconds(run: Run, gpu: Gpu) -> float:
    """Of what each micro-batch does with all weights, whatever its size: autocast copies matrices and widens their
    gradients, and gradients are added to those of the micro-batches before."""
    trained = sum(each.numbers for each in run.trained)
    moved = 2 * all_copies(run) + (6 * trained if run.how.copies_weights else 0)
    if run.slots.micro_batches > 1:
        moved += 3 * run.how.weight * trained
    return moved / (gpu.gigabytes_per_second * 1e9 * constants.BANDWIDTH_SHARE)


def update_seconds(run: Run, gpu: Gpu) -> float:
    """Of reading and writing states, weights and gradients once."""
    optimizer, trained = run.recipe.step.optimizer, run.trained
    states = state_bytes(optimizer, trained, lambda size: size, weight=run.how.weight)
    weights = sum(each.numbers * run.how.weight for each in trained)
    bandwidth = gpu.gigabytes_per_second * 1e9
    if isinstance(optimizer, AdamW) and optimizer.states != "float32":  # the kernel keeps no gradient
        return (2 * states + 3 * weights) / (bandwidth * constants.NARROW_UPDATE_SHARE)
    return (2 * states + 6 * weights) / (bandwidth * constants.BANDWIDTH_SHARE)


def offloaded_seconds(run: Run) -> float:
    """Of states that come from the host and go back, both ways at once."""
    if run.recipe.step.offload == "none":
        return 0.0
    trained = [each for each in run.shape.weights if each.trained]
    states = state_bytes(run.recipe.step.optimizer, trained, lambda size: size, weight=run.how.weight)
    return states / (constants.HOST_GIGABYTES_PER_SECOND * 1e9)


def released_seconds(run: Run, computing: float, update: float) -> float:
    """Of a step with released gradients, whose host launches layers one operation at a time, and the update of each
    tensor from a hook of the last backward pass. With exact clipping a forward and a backward pass without updates come
    before that one; in either, the slower of host and GPU counts."""
    forward, backward = constants.RELEASED_FORWARD, constants.RELEASED_BACKWARD
    again = {"none": 0, "feed_forward": forward // 3, "block": forward}[run.how.recompute]
    of_layer = constants.RELEASED_LAUNCH_S * sum(stack.layers for stack in run.shape.stacks)
    if run.how.compiled:
        of_layer *= constants.RELEASED_COMPILED
    updates = constants.RELEASED_LAUNCH_S * sum(
        each.count
        * (constants.RELEASED_UPDATE if each.each >= LEAST_NUMBERS else constants.RELEASED_SMALL_UPDATE)
        for each in run.shape.weights
        if each.trained
    )
    of_forward, of_backward = of_layer * forward, of_layer * (backward + again)
    if run.recipe.step.clip.kind != "global_norm":
        return max(computing + update, of_forward + of_backward + updates)
    # Operations of a backward pass, by weight and token; a forward pass has 2.
    both = 6.0 if run.how.recompute == "block" else 4.0
    last = computing * both / (2.0 + 2.0 * both)
    return max(computing - last, of_forward + of_backward) + max(last + update, of_backward + updates)


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
