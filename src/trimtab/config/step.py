"""One step: how much it consumes, in which precision, and how the gradient becomes an update."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from trimtab.config.settings import Settings, refused
from trimtab.units import Duration


class AdamW(Settings):
    """AdamW (arXiv 1711.05101); decay is not applied to biases, norms and embeddings."""

    kind: Literal["adamw"] = "adamw"
    learning_rate: float = Field(default=5.0e-4, gt=0, le=10)
    """The peak rate; the schedule says which share of it holds at a step."""
    betas: tuple[float, float] = (0.9, 0.98)
    """Decay of the moving averages of the gradient and of its square."""
    eps: float = Field(default=1.0e-8, gt=0, le=1)
    """Added to the root of the second moment, so that nothing is divided by zero."""
    weight_decay: float = Field(default=0.0, ge=0, le=10)
    """Share of a weight, times the learning rate, taken off in each update."""

    @model_validator(mode="after")
    def _betas_below_one(self) -> "AdamW":
        if not all(0 <= beta < 1 for beta in self.betas):
            raise ValueError(f"betas: got {list(self.betas)}; each is at least 0 and below 1")
        return self


class Adafactor(Settings):
    """Adafactor (arXiv 1804.04235) with an external learning rate: factored second moments, no first moment."""

    kind: Literal["adafactor"] = "adafactor"
    learning_rate: float = Field(default=1.0e-3, gt=0, le=10)
    """The peak rate; the schedule says which share of it holds at a step."""
    clip_update: float = Field(default=1.0, gt=0)
    """An update whose root mean square is above this is scaled down to it (section 6)."""
    decay_exponent: float = Field(default=0.8, gt=0, lt=1)
    """The second moment's decay at step t is 1 - t^(-decay_exponent) (section 7.2)."""
    eps: float = Field(default=1.0e-30, gt=0)
    """Added to the squared gradient."""
    weight_decay: float = Field(default=0.0, ge=0, le=10)
    """Share of a weight, times the learning rate, taken off in each update."""


class StableAdamW(AdamW):
    """AdamW whose rate is lowered, tensor by tensor, where the second moment lags behind the gradients: Adafactor's
    update clipping in AdamW (arXiv 2304.13013, algorithm 2)."""

    kind: Literal["stable_adamw"] = "stable_adamw"  # type: ignore[assignment]


class Lion(Settings):
    """Moves every weight by the same amount, in the sign of its momentum (arXiv 2302.06675, algorithm 2); wants a rate
    3 to 10 times lower than AdamW's and a decay as many times higher (section 5)."""

    kind: Literal["lion"] = "lion"
    learning_rate: float = Field(default=1.0e-4, gt=0, le=10)
    """The peak rate; the schedule says which share of it holds at a step."""
    betas: tuple[float, float] = (0.9, 0.99)
    """Share of the momentum in the sign that is stepped along, and decay of the momentum."""
    weight_decay: float = Field(default=0.0, ge=0, le=10)
    """Share of a weight, times the learning rate, taken off in each update."""

    @model_validator(mode="after")
    def _betas_below_one(self) -> "Lion":
        if not all(0 <= beta < 1 for beta in self.betas):
            raise ValueError(f"betas: got {list(self.betas)}; each is at least 0 and below 1")
        return self


class SGD(Settings):
    """Stochastic gradient descent with momentum."""

    kind: Literal["sgd"] = "sgd"
    learning_rate: float = Field(default=0.1, gt=0, le=100)
    """The peak rate; the schedule says which share of it holds at a step."""
    momentum: float = Field(default=0.9, ge=0, lt=1)
    """Decay of the sum of gradients that is stepped along."""
    nesterov: bool = False
    """Looks one step ahead along the momentum (Sutskever et al. 2013)."""
    weight_decay: float = Field(default=0.0, ge=0, le=10)
    """Share of a weight, times the learning rate, taken off in each update."""


class Constant(Settings):
    """The same rate throughout, after an optional warmup."""

    kind: Literal["constant"] = "constant"
    warmup: Duration | None = None
    """How long the rate rises from zero; by default not at all."""


class LinearWarmup(Settings):
    """Up over `warmup`, then down in a line to zero at `length`."""

    kind: Literal["linear_warmup"] = "linear_warmup"
    warmup: Duration = Duration(500, "steps")
    """How long the rate rises in a line from zero."""


class InverseSqrt(Settings):
    """Up over `warmup`, then falling with one over the square root of the step."""

    kind: Literal["inverse_sqrt"] = "inverse_sqrt"
    warmup: Duration = Duration(4000, "steps")
    """How long the rate rises in a line from zero."""


class Cosine(Settings):
    """Up over `warmup`, then down along half a cosine (arXiv 1608.03983) to `floor` at `length`."""

    kind: Literal["cosine"] = "cosine"
    warmup: Duration = Duration(500, "steps")
    """How long the rate rises in a line from zero."""
    floor: float = Field(default=0.0, ge=0, lt=1)
    """Share of the peak rate that is left at the end."""


class WarmupStableDecay(Settings):
    """Up over `warmup`, level, then down to `floor` over the last share of the run (arXiv 2405.18392)."""

    kind: Literal["warmup_stable_decay"] = "warmup_stable_decay"
    warmup: Duration = Duration(500, "steps")
    """How long the rate rises in a line from zero."""
    decay_share: float = Field(default=0.2, gt=0, le=1)
    """Share of `length` at its end in which the rate falls."""
    shape: Literal["linear", "sqrt"] = "sqrt"
    """Falls in a line, or as 1 - sqrt of the time gone (section 3.1)."""
    floor: float = Field(default=0.0, ge=0, lt=1)
    """Share of the peak rate that is left at the end."""


class OneCycle(Settings):
    """Up along half a cosine from `start`, down along another to `floor` (arXiv 1708.07120)."""

    kind: Literal["one_cycle"] = "one_cycle"
    warmup: Duration | None = None
    """By default 30% of `length`."""
    start: float = Field(default=0.04, gt=0, lt=1)
    """Share of the peak rate at the beginning."""
    floor: float = Field(default=4.0e-6, ge=0, lt=1)
    """Share of the peak rate that is left at the end."""


class Exponential(Settings):
    """Up over `warmup`, then down by the same factor every step, to `floor` at `length`."""

    kind: Literal["exponential"] = "exponential"
    warmup: Duration = Duration(500, "steps")
    """How long the rate rises in a line from zero."""
    floor: float = Field(default=0.1, gt=0, lt=1)
    """Share of the peak rate that is left at the end."""


class Noam(Settings):
    """`inverse_sqrt` with the rate of "Attention Is All You Need" (arXiv 1706.03762, equation 3): `learning_rate` is a
    factor, and the peak is learning_rate / sqrt(dim * warmup). For recipes that come from elsewhere; the peak is
    printed when the run begins."""

    kind: Literal["noam"] = "noam"
    warmup: Duration = Duration(4000, "steps")
    """How long the rate rises in a line from zero."""

    @model_validator(mode="after")
    def _warmup_in_steps(self) -> "Noam":
        if self.warmup.unit != "steps":
            raise ValueError(
                f"warmup: got {self.warmup}; this schedule's peak follows from it, so it is in steps"
            )
        return self


class ClipGlobalNorm(Settings):
    """Scales the gradient down to a global norm of `at` (Pascanu et al., arXiv 1211.5063)."""

    kind: Literal["global_norm"] = "global_norm"
    at: float = Field(default=1.0, gt=0)
    """Largest norm of the whole gradient; 1 is usual."""


class ClipAdaptive(Settings):
    """Scales each tensor's gradient down to a multiple of what its norm has been (AdaGC, arXiv 2502.11034)."""

    kind: Literal["adaptive"] = "adaptive"
    at: float = Field(default=1.05, gt=1)
    """Largest norm of a tensor's gradient, times the moving average of its own clipped norms."""
    decay: float = Field(default=0.98, ge=0, lt=1)
    """Of the moving average."""
    first: float = Field(default=1.0, gt=0)
    """Global norm that is clipped to until the averages are known."""
    first_steps: int = Field(default=100, ge=1)
    """How many updates that lasts."""


class ClipOff(Settings):
    """Measures the gradient norm and leaves the gradient as it is."""

    kind: Literal["off"] = "off"


Optimizer = Annotated[AdamW | Adafactor | StableAdamW | Lion | SGD, Field(discriminator="kind")]
Schedule = Annotated[
    Constant | LinearWarmup | InverseSqrt | Cosine | WarmupStableDecay | OneCycle | Exponential | Noam,
    Field(discriminator="kind"),
]
Clip = Annotated[ClipGlobalNorm | ClipAdaptive | ClipOff, Field(discriminator="kind")]
Precision = Literal["auto", "fp32", "tf32", "bf16_mixed", "fp16_mixed", "bf16"]


class BatchWarmup(Settings):
    """Steps that begin small and grow to `tokens_per_step`: early gradients point so clearly that fewer tokens show the
    way (McCandlish et al. 2018, arXiv 1812.06162). The learning rate is not changed by it."""

    start: int = Field(ge=1)
    """Target tokens of the first step."""
    over: Duration = Duration(2000, "steps")
    """When `tokens_per_step` is reached, in steps."""
    shape: Literal["linear", "doubling"] = "linear"
    """A little more with every step, or twice as much at equal distances (as in arXiv 1711.00489)."""

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
    """A moving average of the weights, kept beside them in every checkpoint; training itself does not notice. Use it as
    `RUN@ema`, or train with `evaluate.weights: ema`."""

    decay: float = Field(default=0.9999, ge=0, lt=1)
    """Share of the average that stays at each refresh: 0.999 looks back over about 1,000 of them."""
    warmup: bool = True
    """At the t-th refresh the share is at most (1 + t) / (10 + t) (TensorFlow's `ExponentialMovingAverage` with
    `num_updates`; Marian, OpenNMT-py and diffusers do the same), so that the average is always that of about the last
    tenth of the run and the first weights are soon forgotten."""
    every: int = Field(default=1, ge=1)
    """Updates from one refresh to the next, as `average_every` of OpenNMT-py and `ema_update_freq` of fairseq. Skipped
    steps are no updates."""


class StepConfig(Settings):
    """How one step is made."""

    tokens_per_step: int = Field(default=32768, ge=1)
    """Target tokens that count in the loss, all micro-batches and ranks together."""
    batch_warmup: BatchWarmup | None = None
    """Steps that begin smaller than that; by default they are all alike."""
    tokens_per_micro_batch: int | None = Field(default=None, ge=1)
    """How many target slots run at once on one rank; changes speed and memory, never the arithmetic. By default
    8192, or the whole step where that is smaller."""
    source_tokens_per_micro_batch: int | None = Field(default=None, ge=1)
    """Source slots that go with them; follows from the corpus, and stands in the resolved recipe."""
    precision: Precision = "auto"
    """auto takes bf16_mixed where the GPU has it, fp16_mixed with loss scaling on older ones, fp32 on a CPU; with these
    weights are fp32. `tf32` is fp32 whose products round their factors to 10 bits on a GPU; `fp32` never does. `bf16`
    has weights and gradients in bfloat16 too, 12 bytes for each weight in place of 16: updates are computed in fp32 and
    stored by stochastic rounding, so that small ones count on average (arXiv 2502.20566). The gradients of
    micro-batches add up in bfloat16 too, so there the cut does change the arithmetic a little."""
    optimizer: Optimizer = AdamW()
    """How a gradient becomes an update."""
    schedule: Schedule = LinearWarmup()
    """How the learning rate goes over the run."""
    clip: Clip = ClipGlobalNorm()
    """How large gradients are bounded."""
    weight_clip: float | None = Field(default=None, ge=1)
    """After each update no weight of a matrix is larger than this many times the largest it began with (arXiv
    2407.01704, algorithm 1, with the bound taken from the weights themselves)."""
    ema: Ema | None = None
    """A moving average of the weights, kept beside them; by default there is none."""
    deterministic: bool = False
    """Only deterministic kernels: two runs on one GPU give the same bits, slower. On a CPU it is always so."""
    compile: Literal["auto", "on", "off"] = "auto"
    """Compile the model's blocks on a GPU; auto does where the run is long enough for it to pay."""
    cuda_graph: Literal["auto", "on", "off"] = "auto"
    """Record a whole step on a GPU after the first few, and launch each later one at once instead of kernel by kernel,
    with the same arithmetic; auto does wherever steps have one shape: in half precision."""

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
    def _narrow_weights_are_rounded_by_chance(self) -> "StepConfig":
        if self.precision == "bf16" and (self.optimizer.kind != "adamw" or self.ema is not None):
            raise refused(
                "precision",
                "only AdamW stores weights in bfloat16 without losing small updates, and no average of them is kept",
                got=f"bf16 with optimizer {self.optimizer.kind}" + (" and ema" if self.ema else ""),
                allowed="optimizer adamw without ema, or another precision",
                fix="set `precision: bf16_mixed`",
            )
        return self

    @property
    def micro_batch_tokens(self) -> int:
        """`tokens_per_micro_batch` with its default filled in."""
        return min(self.tokens_per_step, self.tokens_per_micro_batch or 8192)
