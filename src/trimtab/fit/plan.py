"""The memory of a run, byte by byte before its first step."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from trimtab.config.run import Recipe
from trimtab.fit import constants
from trimtab.fit.activations import kept_of_layer, of_norm, of_source, recomputed_bytes, rotary_bytes
from trimtab.fit.batches import Slots
from trimtab.fit.evaluation import evaluation_bytes
from trimtab.fit.gpus import Gpu
from trimtab.fit.loss_workspace import loss_workspace, narrows_frozen
from trimtab.fit.memory_size import GIB
from trimtab.fit.native import native_shape
from trimtab.fit.optimizer_memory import LEAST_NUMBERS, state_bytes, update_workspace_bytes
from trimtab.fit.planned_run import Run, is_released, run_of
from trimtab.fit.shape import Layer, Shape, Weights
from trimtab.fit.sharded import sum_bytes, whole_at_the_start
from trimtab.fit.vocabulary import vocabulary_of
from trimtab.fit.weight_memory import rounded_block, weight_bytes


@dataclass(frozen=True, slots=True)
class Plan:
    """Bytes on the GPU and on the host."""

    run: Run
    owners: dict[str, int]
    """What lies in memory at the peak, by owner."""
    moments: dict[str, int]
    """Allocated bytes at each moment that may be the peak."""
    allocated: int
    """The most that tensors hold at once, in training."""
    reserved: int
    """What PyTorch's allocator has taken from the driver by then."""
    driver: int
    """What the process holds: the reserved bytes and those of CUDA itself."""
    evaluation: int
    """The same in an evaluation; 0 where there is none."""
    host: int
    """The most of the host's memory that the training process needs."""
    activations: dict[str, int] = field(default_factory=dict[str, int])
    """Those of the layers, by kind."""
    start: int = 0
    """The driver's bytes before the weights are sharded; 0 where they are not."""

    @property
    def peak(self) -> int:
        """The most of start, training and evaluation, as the driver sees it."""
        return max(self.start, self.driver, self.evaluation)

    @property
    def most_reserved(self) -> int:
        """The same as PyTorch's allocator sees it, of training and evaluation: without CUDA's own memory."""
        return max(self.reserved, self.evaluation - (self.driver - self.reserved))

    @property
    def peak_moment(self) -> str:
        """When tensors hold the most."""
        return max(self.moments, key=lambda name: self.moments[name])


def plan_recipe(recipe: Recipe, folder: Path, gpu: Gpu, *, ranks: int = 1) -> Plan:
    """The plan of a recipe on a GPU, or of each of so many processes on GPUs like it; relative paths start from
    `folder`. InputError where a file that says how large the model is cannot be read."""
    return plan_shape(recipe, folder, gpu, native_shape(recipe, vocabulary_of(recipe, folder)), ranks=ranks)


def plan_shape(recipe: Recipe, folder: Path, gpu: Gpu, shape: Shape, *, ranks: int = 1) -> Plan:
    """The plan of a model of this shape, trained as the recipe says."""
    return plan_run(run_of(recipe, folder, gpu, shape, ranks=ranks))


def plan_run(run: Run) -> Plan:
    """All bytes of a run."""
    held = _held(run)
    base = sum(held.values())
    activations = activations_of(run)
    passing = _with_exchange(run, _moments(run, activations))
    moments = {name: base + size for name, size in passing.items()}
    allocated = max(moments.values()) + constants.WORKSPACE_BYTES
    reserved = allocated + _gaps(run, allocated - base)
    driver = reserved + constants.CONTEXT_BYTES + (constants.GRAPH_BYTES if run.recorded else 0)
    driver += constants.NCCL_BYTES if run.ranks > 1 else 0
    peak = max(moments, key=lambda name: moments[name])
    owners = {**held, **_passing(run, activations, peak), "workspace of cuBLAS": constants.WORKSPACE_BYTES}
    rest = allocated - sum(owners.values())
    owners["gradients of activations, and what else passes"] = max(0, rest)
    owners["gaps of the allocator"] = reserved - allocated
    owners["CUDA context and kernels" + (", NCCL" if run.ranks > 1 else "")] = driver - reserved
    return Plan(
        run,
        {name: size for name, size in owners.items() if size},
        moments,
        allocated,
        reserved,
        driver,
        evaluation_bytes(run, base=base - held.get("gradients", 0), reserved=reserved),
        _host(run),
        dict(activations),
        _start(run),
    )


def _gaps(run: Run, passing: int) -> int:
    """Bytes that the allocator reserves beside what is allocated: a share of what comes and goes in a step, and room
    for gradients of embeddings, which no freed block of an activation is large enough for."""
    tables = [each for each in run.trained if each.part == "embedding"]
    largest = max((weight_bytes(each, run.how.weight) for each in tables), default=0)
    return int(constants.GAP_SHARE * passing + constants.GAP_TABLES * largest) + constants.GAP_BYTES


def _held(run: Run) -> dict[str, int]:
    """What stays between steps."""
    recipe, shape, how = run.recipe, run.shape, run.how
    trained = run.trained
    narrow = recipe.adapter is not None and narrows_frozen(how)
    states, visiting = states_bytes(run, trained)
    held = {
        "weights": sum(weight_bytes(each, how.weight) for each in trained),
        "frozen weights": sum(
            weight_bytes(each, 2 if narrow and len(each.shape) == 2 else how.weight)
            for each in run.own_weights
            if not each.trained
        ),
        "optimizer states": states,
        "optimizer states from the host": visiting,
        "moving average": sum(weight_bytes(each, how.weight) for each in trained) if recipe.step.ema else 0,
        "tables of positions": shape.buffers // (2 if how.precision == "bf16" else 1),
        "batch": _batch(run.slots) * (2 if run.recorded else 1),
    }
    if run.slots.micro_batches > 1:
        held["gradients"] = gradient_bytes(run)
    return held


def states_bytes(run: Run, trained: Sequence[Weights]) -> tuple[int, int]:
    """Bytes of the optimizer's states that stay on the GPU, and of those that visit it: from the host, those of at most
    three tensors at a time."""
    optimizer, weight = run.recipe.step.optimizer, run.how.weight
    if run.recipe.step.offload == "none":
        return state_bytes(optimizer, trained, rounded_block, weight=weight), 0
    small = [each for each in trained if each.each < LEAST_NUMBERS]
    sizes = sorted(
        state_bytes(optimizer, [replace(each, count=1)], rounded_block, weight=weight)
        for each in trained
        if each.each >= LEAST_NUMBERS
        for _ in range(min(3, each.count))
    )
    return state_bytes(optimizer, small, rounded_block, weight=weight), sum(sizes[-3:])


def _batch(slots: Slots) -> int:
    """Ids, positions, segments and labels, as 64-bit numbers."""
    return 24 * (slots.target + slots.source) + 8 * slots.targets


def gradient_bytes(run: Run) -> int:
    """Those of all that is trained; of the largest tensor where each is dropped once it is used."""
    sizes = [
        weight_bytes(each, run.how.weight) if not is_released(run) else each.each * run.how.weight
        for each in run.trained
    ]
    return max(sizes, default=0) if is_released(run) else sum(sizes)


def _copied(run: Run, each: Weights) -> bool:
    """Frozen matrices are kept in half precision and need no copy."""
    return each.trained or run.recipe.adapter is None


def activations_of(run: Run) -> Counter[str]:
    """Bytes that all layers keep of a micro-batch, by kind."""
    found = Counter[str]()
    for stack in run.shape.stacks:
        tokens = run.slots.source if stack.reads_source else run.slots.target
        for kind, size in kept_of_layer(stack.layer, run.how).items():
            found[kind] += size * stack.layers * tokens
        if stack.layer.cross and run.how.recompute != "block":
            found["attention"] += of_source(stack.layer, run.how) * stack.layers * run.slots.source
        found["positions"] += rotary_bytes(stack) * tokens
        found["norms"] += of_norm(stack.layer, run.how) * tokens if run.shape.final_norm else 0
        found["dropout"] += stack.layer.dim * tokens if stack.layer.drops else 0
    return found


def _passing(run: Run, activations: Counter[str], peak: str) -> dict[str, int]:
    """What is there at the peak beside what stays, by owner."""
    loss = loss_workspace(run.shape, run.how, targets=run.slots.targets)
    gradients = 0 if run.slots.micro_batches > 1 else gradient_bytes(run)
    of_others = run.gathered
    match peak:
        case "loss":
            return {
                "activations": activations.total(),
                "weights in half precision": all_copies(run),
                "weights gathered from other processes": of_others.tables + of_others.last_layer,
                "loss: vectors and gradients": loss.hidden + loss.by_hidden + loss.by_matrix,
                "loss: logits in pieces": loss.pieces,
            }
        case "first layer of the backward pass":
            return {
                "activations": activations.total(),
                "weights in half precision": all_copies(run),
                "weights gathered from other processes": of_others.tables + of_others.layers,
                "gradients of a gathered layer": of_others.gradients,
                "loss: vectors and gradients": loss.by_hidden + loss.by_matrix,
            }
        case _:
            return {"gradients": gradients} if gradients else {}


def all_copies(run: Run) -> int:
    """Bytes of the matrices that autocast copies, of all layers."""
    if not run.how.copies_weights or run.is_sharded:  # which gathers them in half precision
        return 0
    return 2 * sum(each.numbers for each in run.shape.weights if each.is_linear and _copied(run, each))


def _moments(run: Run, activations: Counter[str]) -> dict[str, int]:
    """Bytes beside what stays, at each moment that may be the peak."""
    shape, how, slots = run.shape, run.how, run.slots
    loss = loss_workspace(shape, how, targets=slots.targets)
    total, copies, trained = activations.total(), all_copies(run), run.trained
    gradients = 0 if slots.micro_batches > 1 else gradient_bytes(run)
    tables = [each for each in trained if each.part in ("embedding", "output")]
    of_tables = sum(weight_bytes(each, how.weight) for each in tables)
    # Gradients of a tied matrix come from the loss and from the embeddings, and lie beside each other before they are
    # added.
    embedding = max(
        (weight_bytes(each, how.weight) for each in tables if each.part == "embedding"), default=0
    )
    waits = loss.by_matrix if shape.tied else 0
    streams = sum(
        4 * stack.layer.dim * (slots.source if stack.reads_source else slots.target) for stack in shape.stacks
    )
    output = sum(weight_bytes(each, how.weight) for each in tables if each.part == "output")
    done = max(0, gradients - of_tables) + (output if gradients else 0)
    layers = sum(stack.layers for stack in shape.stacks)
    passing = max(passing_layer(stack.layer, run) for stack in shape.stacks)
    update = update_workspace_bytes(
        run.recipe.step.optimizer, trained, how.precision, by_tensor=is_released(run)
    )
    if how.recompute == "block":
        copies //= layers  # each layer makes them again
    if is_released(run):
        twice = run.recipe.step.clip.kind == "global_norm"  # the graph stays for the second backward pass
        stays = total if twice else 0
        matrix = max((each.each * how.weight for each in trained if each.part == "matrix"), default=0)
        largest = max(matrix, embedding, output)
        return {
            "loss": total + all_copies(run) + loss.hidden + loss.by_hidden + loss.by_matrix + loss.pieces,
            "first layer of the backward pass": total + copies + loss.by_hidden + loss.by_matrix + passing,
            "update of the largest tensor": (total if output else stays) + largest + streams + update,
            "gradient of the embeddings": stays + waits + embedding + streams + update,
        }
    return {
        "loss": total + copies + loss.hidden + loss.by_hidden + loss.by_matrix + loss.pieces,
        "first layer of the backward pass": total + copies + loss.by_hidden + loss.by_matrix + passing,
        "last layer of the backward pass": done + waits + (total + copies) // layers + passing,
        "gradient of the embeddings": done + waits + embedding + streams,
        "optimizer": gradients
        + update_workspace_bytes(
            run.recipe.step.optimizer,
            trained,
            how.precision,
            by_tensor=run.recipe.step.offload != "none",
        ),
    }


def _with_exchange(run: Run, moments: dict[str, int]) -> dict[str, int]:
    """The moments with what a process gathers from others, and the sum of gradients over processes."""
    if run.is_sharded:
        of = run.gathered
        backward = of.tables + of.layers + of.gradients
        more = {
            "loss": of.tables + of.last_layer,
            "first layer of the backward pass": backward,
            "last layer of the backward pass": backward,
            "gradient of the embeddings": of.tables + of.table_gradients,
        }
        return {name: size + more.get(name, 0) for name, size in moments.items()}
    if run.ranks == 1:
        return moments
    gradients = 0 if run.slots.micro_batches > 1 else gradient_bytes(run)
    return {**moments, "sum over processes": gradients + sum_bytes(run.trained)}


def passing_layer(layer: Layer, run: Run) -> int:
    """What the backward pass of a layer holds for a moment: gradients of its widest activations, of the residual
    stream, and of its largest matrix in half precision and in float32."""
    tokens = run.slots.target or run.slots.source
    half, dim = run.how.half, layer.dim
    widest = half * layer.feed_forward * (4 if layer.gated else 2)
    saved = half * layer.feed_forward
    streams = (run.how.residual(layer) + 4 + half) * dim
    matrix = layer.feed_forward * dim * (2 if layer.gated else 1)
    recomputed = recomputed_bytes(layer, run.how) * tokens
    if layer.cross and run.how.recompute == "block":
        recomputed += of_source(layer, run.how) * run.slots.source
    return (widest - saved + streams) * tokens + recomputed + _passing_matrix(layer, run) * matrix


def _passing_matrix(layer: Layer, run: Run) -> int:
    """Bytes for each number of a layer's largest matrix: its copy and its gradient; or its unpacked parts and the
    matrix that they are joined to; or nothing."""
    if run.is_sharded:  # counted as that of a gathered layer
        return 0
    if not layer.frozen:
        return 2 + run.how.weight
    adapter = run.recipe.adapter
    if adapter is None or adapter.quantize_base == "none":
        return 0
    return run.how.half * (2 if layer.gated else 1)


def _start(run: Run) -> int:
    """The driver's bytes before weights are sharded; 0 where they are not."""
    if not run.is_sharded:
        return 0
    shares = sum(weight_bytes(each, run.how.weight) for each in run.own_weights)
    whole = whole_at_the_start(run.shape, run.how, run.recipe, shares=shares)
    return whole + constants.CONTEXT_BYTES + constants.GAP_BYTES + constants.NCCL_BYTES


def page_locked(size: int) -> int:
    """Bytes of page-locked memory that PyTorch takes for a tensor: a power of two."""
    return 1 << (size - 1).bit_length()


def _host(run: Run) -> int:
    """The model is made in host memory, and a checkpoint brings weights and states there before it is written."""
    weights = 0 if run.recipe.model.drawn_on_gpu else 4 * run.shape.parameters
    trained = [each for each in run.shape.weights if each.trained]
    saved = sum(each.numbers * run.how.weight for each in trained) + state_bytes(
        run.recipe.step.optimizer, trained, lambda size: size, weight=run.how.weight
    )
    locked = 0
    if run.recipe.step.offload != "none":
        locked = state_bytes(run.recipe.step.optimizer, trained, page_locked, weight=run.how.weight)
    saved = saved if run.recipe.checkpoint.write else 0
    return int(1.5 * GIB) + locked + max(weights, saved)
