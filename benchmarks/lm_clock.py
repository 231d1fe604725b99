"""What both sides of `lm_speed.py` have in common: the optimizer's settings, the formula, the clock."""

import statistics
import time

import torch

PEAK = 989e12
RATE, BETAS, DECAY = 1e-4, (0.9, 0.95), 0.1
WINDOWS = 4
"""Steps of different tokens, which come in turns."""
REPETITIONS, KERNELS_TOLD = 5, 20


def operations_of(config, vocabulary, lengths):
    """Additions and multiplications of forward and backward of documents of these lengths."""
    size, kept = config.dim // config.heads, config.kv_heads or config.heads
    attention = config.dim * (config.heads + 2 * kept) * size + config.dim**2
    maps = 3 if config.activation in ("swiglu", "geglu") else 2
    multiplying = (
        config.layers * (attention + maps * config.dim * config.feed_forward) + vocabulary * config.dim
    )
    attending = (lengths * (lengths + 1) // 2).sum()
    return 6.0 * multiplying * lengths.sum() + 12.0 * config.layers * config.dim * attending


def measured(args, step, operations, *, warm):
    """Medians over repetitions after a warm-up, whose first step compiles."""
    begun = time.perf_counter()
    float(step(0))
    first = time.perf_counter() - begun
    for number in range(1, warm):
        step(number)
    once = timed(args, step, 1)
    steps = max(1, round(args.seconds / REPETITIONS / once))
    each = [timed(args, step, steps) for _ in range(REPETITIONS)]
    middle = statistics.median(each)
    return {
        "percent_of_peak": round(100 * operations / middle / PEAK, 2),
        "tokens_per_second": round(args.tokens_per_step / middle),
        "tflops": round(operations / middle / 1e12, 1),
        "step_ms": round(1000 * middle, 2),
        "step_ms_of_repetitions": [round(1000 * seconds, 2) for seconds in each],
        "steps_of_a_repetition": steps,
        "seconds_of_first_step": round(first, 1),
        "last_loss": round(float(step(0)), 4),
    }


def timed(args, step, steps):
    """Seconds of a step."""
    wait(args)
    begun = time.perf_counter()
    for number in range(steps):
        step(number)
    wait(args)
    return (time.perf_counter() - begun) / steps


def kernels(step, args):
    """The kernels that take the most of a plain step's time."""
    kind = args.device.type
    activity = torch.profiler.ProfilerActivity.CUDA if kind == "cuda" else torch.profiler.ProfilerActivity.CPU
    with torch.profiler.profile(activities=[activity]) as seen:
        step(0)
        wait(args)
    times = [(event.key, event.self_device_time_total, event.count) for event in seen.key_averages()]
    if kind != "cuda":
        times = [(event.key, event.self_cpu_time_total, event.count) for event in seen.key_averages()]
    total = sum(time for _, time, _ in times)
    largest = sorted(times, key=lambda each: -each[1])[:KERNELS_TOLD]
    return [
        {"name": name[:140], "share": round(time / total, 4), "calls": count, "ms": round(time / 1000, 3)}
        for name, time, count in largest
    ]


def wait(args):
    if args.device.type == "cuda":
        torch.cuda.synchronize()


def reset(args):
    torch._dynamo.reset()
    if args.device.type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    return time.perf_counter()


def peak(args):
    if args.device.type != "cuda":
        return {}
    return {"peak_gib": round(torch.cuda.max_memory_allocated() / 2**30, 2)}
