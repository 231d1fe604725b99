"""One step: how much it consumes, in which precision, and how the gradient becomes an update."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from trimtab.config.optimizers import SGD as SGD
from trimtab.config.optimizers import Adafactor as Adafactor
from trimtab.config.optimizers import AdamW as AdamW
from trimtab.config.optimizers import LearningRateMultipliers as LearningRateMultipliers
from trimtab.config.optimizers import Lion as Lion
from trimtab.config.optimizers import Optimizer as Optimizer
from trimtab.config.optimizers import Role as Role
from trimtab.config.optimizers import StableAdamW as StableAdamW
from trimtab.config.schedules import Constant as Constant
from trimtab.config.schedules import Cosine as Cosine
from trimtab.config.schedules import Exponential as Exponential
from trimtab.config.schedules import InverseSqrt as InverseSqrt
from trimtab.config.schedules import LinearWarmup as LinearWarmup
from trimtab.config.schedules import Noam as Noam
from trimtab.config.schedules import OneCycle as OneCycle
from trimtab.config.schedules import Schedule as Schedule
from trimtab.config.schedules import WarmupStableDecay as WarmupStableDecay
from trimtab.config.settings import Settings, refused
from trimtab.units import Duration


class ClipGlobalNorm(Settings):
    """Scales the gradient down to a global norm of `at` (Pascanu et al., arXiv 1211.5063)."""

    kind: Literal["global_norm"] = "global_norm"
    at: float = Field(default=1.0, gt=0)
    """Maximum norm of the whole gradient; 1 is usual."""


class ClipAdaptive(Settings):
    """Scales each tensor's gradient down to a multiple of its past norm (AdaGC, arXiv 2502.11034)."""

    kind: Literal["adaptive"] = "adaptive"
    at: float = Field(default=1.05, gt=1)
    """Maximum norm of a tensor's gradient, relative to the moving average of its own clipped norms."""
    decay: float = Field(default=0.98, ge=0, lt=1)
    """Decay of the moving average."""
    first: float = Field(default=1.0, gt=0)
    """Global norm to clip to until the averages are known."""
    first_steps: int = Field(default=100, ge=1)
    """Number of updates until then."""


class ClipComponent(Settings):
    """Scales the gradient of each component of a modular model down to a norm of `at`, each by itself. This changes the
    direction of the whole gradient, so the run logs its cosine with the gradient before clipping (`clip_cosine`), and
    how often each component was clipped (`n_clips`)."""

    kind: Literal["component"] = "component"
    at: float = Field(default=1.0, gt=0)
    """Maximum norm of the gradient of a component."""


class ClipOff(Settings):
    """Measures the gradient norm without changing the gradient."""

    kind: Literal["off"] = "off"


Clip = Annotated[ClipGlobalNorm | ClipAdaptive | ClipComponent | ClipOff, Field(discriminator="kind")]


Precision = Literal["auto", "fp32", "tf32", "bf16_mixed", "fp16_mixed", "bf16"]


class BatchWarmup(Settings):
    """Starts with small steps and grows them to `tokens_per_step`: early gradients are so consistent that fewer tokens
    suffice (McCandlish et al. 2018, arXiv 1812.06162). This does not change the learning rate."""

    start: int = Field(ge=1)
    """Target tokens of the first step."""
    over: Duration = Duration(2000, "steps")
    """Steps until `tokens_per_step` is reached."""
    shape: Literal["linear", "doubling"] = "linear"
    """Linear growth, or doubling at equal intervals (as in arXiv 1711.00489)."""

    @model_validator(mode="after")
    def _in_steps(self) -> "BatchWarmup":
        if self.over.unit != "steps":
            raise refused(
                "over",
                "the size of a step must follow from its number alone, so that a resumed run has the same steps",
                got=str(self.over),
                allowed="a number of steps",
                fix="write it in steps, such as `over: 2000 steps`",
            )
        return self


class Ema(Settings):
    """An exponential moving average of the weights, stored in every checkpoint; it does not influence training. Use it
    as `RUN@ema`, or train with `evaluate.weights: ema`."""

    decay: float = Field(default=0.9999, ge=0, lt=1)
    """Share of the average that remains at each refresh: 0.999 averages over about 1,000 of them."""
    warmup: bool = True
    """Limits the decay at refresh t to (1 + t) / (10 + t) (as TensorFlow's `ExponentialMovingAverage` with
    `num_updates`, Marian, OpenNMT-py and diffusers), so that the average always covers about the last tenth of the run
    and soon forgets the initial weights."""
    every: int = Field(default=1, ge=1)
    """Updates between refreshes, as `average_every` of OpenNMT-py and `ema_update_freq` of fairseq. Skipped steps are
    not updates."""


class StepConfig(Settings):
    """How one training step works."""

    tokens_per_step: int = Field(default=32768, ge=1)
    """Target tokens that count in the loss, all micro-batches and ranks together."""
    batch_warmup: BatchWarmup | None = None
    """Starts with smaller steps; by default all steps have the same size."""
    tokens_per_micro_batch: int | None = Field(default=None, ge=1)
    """Target slots that run at once on one rank; changes speed and memory, never the arithmetic. By default 8192, or
    the whole step if that is smaller."""
    source_tokens_per_micro_batch: int | None = Field(default=None, ge=1)
    """Source slots to go with them; derived from the corpus and written to the resolved recipe."""
    precision: Precision = "auto"
    """`auto` uses bf16_mixed if the GPU supports it, fp16_mixed with loss scaling on older GPUs, and fp32 on a CPU;
    weights are fp32 in all of them. `tf32` is fp32 whose matrix products round their inputs to 10 bits on a GPU; `fp32`
    never does. `bf16` also stores weights and gradients in bfloat16, 12 bytes per weight instead of 16: updates are
    computed in fp32 and stored with stochastic rounding, so that small ones count on average (arXiv 2502.20566). There,
    gradients of micro-batches also accumulate in bfloat16, so splitting a step changes the result slightly."""
    recompute: Literal["none", "feed_forward", "block"] = "none"
    """Recomputes activations in the backward pass instead of keeping them (arXiv 1604.06174): `feed_forward` those of
    the feed-forward sub-layers, which are the widest, `block` all but the input of each layer. The updates are
    bit-identical; steps are slower by about a tenth or a quarter. With `block` and dropout, steps cannot be recorded
    (`cuda_graph`)."""
    gradients: Literal["kept", "released"] = "kept"
    """`released` updates each weight in the backward pass, as soon as its gradient is complete, and frees the gradient:
    2 or 4 bytes less per weight (LOMO, arXiv 2306.09782). A step is then one micro-batch. With `clip: global_norm` it
    has two backward passes, the first of which only measures the norm, so that clipping and the guard work as usual.
    `clip: {kind: off}` needs one, and the guard judges the loss and the gradient of each tensor by itself."""
    offload: Literal["none", "optimizer_states"] = "none"
    """`optimizer_states` keeps the moments of AdamW in host memory and brings those of one tensor after another to the
    GPU for its update. The updates are bit-identical; steps are slower by what the copies take. They are not recorded
    (`cuda_graph`)."""
    optimizer: Optimizer = AdamW.defaults()
    """How a gradient becomes an update."""
    schedule: Schedule = LinearWarmup.defaults()
    """How the learning rate changes over the run. A default warmup that is longer than the run becomes a twentieth of
    it (for `noam`, whose peak depends on the warmup, it is an error)."""
    clip: Clip = ClipGlobalNorm.defaults()
    """How large gradients are clipped."""
    weight_clip: float | None = Field(default=None, ge=1)
    """After each update, limits the weights of a matrix to this many times its largest initial weight (arXiv
    2407.01704, algorithm 1, with the bound taken from the weights themselves)."""
    neftune_alpha: float | None = Field(default=None, gt=0, le=1000)
    """NEFTune (Jain et al. 2023, arXiv 2310.05914, algorithm 1): in training alone, uniform noise is added to the
    embeddings of language models, of up to this / sqrt(length x dim) for each number, where the length is that of the
    row. 5 is usual. On short rows the noise is larger than the embeddings; by default there is none."""
    position_shift: int | None = Field(default=None, ge=1, le=65536)
    """Shifted absolute positions (SHAPE, arXiv 2109.05644, section 3): in training alone, the positions of each text
    begin at a number from 0 to this, drawn for source and target apart, so that the model learns distances rather than
    places. 100 is usual; for sinusoidal and learned positions."""
    stochastic_depth: float | None = Field(default=None, gt=0, lt=1)
    """In training alone, skips each sub-layer of the last layer with this chance, and of those below with less in
    proportion (arXiv 1603.09382, section 3). It regularizes deep models; it does not save time, since a skipped
    sub-layer is computed and multiplied by zero."""
    ema: Ema | None = None
    """An exponential moving average of the weights; by default there is none."""
    deterministic: bool = False
    """Use only deterministic kernels: two runs on one GPU give the same bits, at lower speed. On a CPU this is always
    the case."""
    compile: Literal["auto", "on", "off"] = "auto"
    """Compile the model's blocks on a GPU; `auto` does so if the run is long enough to benefit."""
    cuda_graph: Literal["auto", "on", "off"] = "auto"
    """Record a whole step on a GPU as a CUDA graph after the first few, and launch later steps as one unit, with the
    same arithmetic. `auto` does so if all steps have one shape, which is the case in half precision."""

    @model_validator(mode="after")
    def _warmup_begins_small(self) -> "StepConfig":
        warmup = self.batch_warmup
        if warmup is not None and warmup.start >= self.tokens_per_step:
            raise refused(
                "batch_warmup",
                "its first step is not smaller than the others",
                got=f"start {warmup.start}, tokens_per_step {self.tokens_per_step}",
                allowed=f"a start below {self.tokens_per_step}",
                fix=f"set `batch_warmup.start` to {max(1, self.tokens_per_step // 8)}, or leave batch_warmup out",
            )
        return self

    @model_validator(mode="after")
    def _narrow_weights_have_no_average(self) -> "StepConfig":
        if self.precision == "bf16" and self.ema is not None:
            raise refused(
                "precision",
                "a moving average of weights in bfloat16 would lose small updates",
                got="bf16 with ema",
                allowed="bf16 without ema, or another precision",
                fix="set `precision: bf16_mixed`",
            )
        return self

    @model_validator(mode="after")
    def _bits_are_kept_beside_narrow_weights(self) -> "StepConfig":
        optimizer = self.optimizer
        if not isinstance(optimizer, AdamW) or optimizer.weights == "as_stored":
            return self
        if self.precision != "bf16" or optimizer.states == "float32":
            raise refused(
                "optimizer.weights",
                "it adds 8 bits to weights in bfloat16, next to states that have fewer bits than float32",
                got=f"24bit with precision {self.precision} and states {optimizer.states}",
                allowed="`precision: bf16` and `optimizer.states: 8bit`, `4bit` or `bfloat16`",
                fix="set `precision: bf16` and `optimizer.states: 8bit`, or leave `optimizer.weights` out",
            )
        return self

    @model_validator(mode="after")
    def _released_gradients_are_those_of_a_step(self) -> "StepConfig":
        if self.gradients == "released":
            refuse_what_needs_all_gradients(self)
        return self

    @model_validator(mode="after")
    def _states_on_the_host_are_those_of_adamw(self) -> "StepConfig":
        if self.offload != "none":
            refuse_what_cannot_be_offloaded(self)
        return self

    @property
    def micro_batch_tokens(self) -> int:
        """`tokens_per_micro_batch` with its default filled in."""
        return min(self.tokens_per_step, self.tokens_per_micro_batch or 8192)


def refuse_what_cannot_be_offloaded(step: StepConfig) -> None:
    """Raises a refusal for settings that have no states which can be kept on the host."""
    optimizer = step.optimizer
    stable = isinstance(optimizer, StableAdamW) and optimizer.states == "float32"
    if stable or not isinstance(optimizer, AdamW):
        raise refused(
            "offload",
            "only the moments of AdamW come to the GPU one tensor at a time",
            got=f"optimizer_states with optimizer.kind {optimizer.kind}"
            + (" and states float32" if stable else ""),
            allowed="adamw, or stable_adamw with states in bfloat16, 8bit or 4bit",
            fix="set `optimizer.states: 8bit`"
            if stable
            else "set `optimizer: {kind: adamw}`, or `offload: none`",
        )
    if step.cuda_graph == "on":
        raise refused(
            "offload",
            "a step whose states come from the host is not recorded",
            got="optimizer_states with cuda_graph on",
            allowed="cuda_graph auto or off",
            fix="set `cuda_graph: auto`",
        )


def refuse_what_needs_all_gradients(step: StepConfig) -> None:
    """Raises a refusal for settings that released gradients would give another meaning."""
    if step.micro_batch_tokens < step.tokens_per_step:
        raise refused(
            "gradients",
            "a gradient that is used at once cannot be added to that of another micro-batch",
            got=f"released with tokens_per_step {step.tokens_per_step} in micro-batches of {step.micro_batch_tokens}",
            allowed="one micro-batch a step, or kept gradients",
            fix=f"set `tokens_per_step: {step.micro_batch_tokens}` and lower the learning rate, with "
            "`recompute: block` for larger ones; or set `gradients: kept`",
        )
    if step.clip.kind == "adaptive":
        raise refused(
            "clip",
            "it clips to the global norm first, which is known only after all gradients have been released",
            got="adaptive with gradients: released",
            allowed="global_norm, off, or kept gradients",
            fix="set `clip: {kind: global_norm}`, or `gradients: kept`",
        )
    if step.precision == "fp16_mixed":
        raise refused(
            "gradients",
            "a loss scale must see all gradients before it lets any of them be used",
            got="released with precision fp16_mixed",
            allowed="bf16, bf16_mixed, fp32 or tf32",
            fix="set `precision: bf16_mixed`, or `gradients: kept`",
        )
    if step.ema is not None or step.weight_clip is not None:
        name = "ema" if step.ema is not None else "weight_clip"
        raise refused(
            name,
            "it is applied after an update of all weights together",
            got=f"{name} with gradients: released",
            allowed=f"no {name}, or kept gradients",
            fix=f"remove `{name}`, or set `gradients: kept`",
        )
