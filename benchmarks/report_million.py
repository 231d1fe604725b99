"""A run of a million steps and twelve curves as a report: its size, how long it takes, and whether each of 40 spikes
of one step is in the buckets and on the pixels of the page.

python benchmarks/report_million.py [--steps 1000000] [--chromium /usr/bin/chromium] [--out FILE]
"""

import argparse
import json
import math
import os
import platform
import random
import tempfile
import time
from pathlib import Path

SPIKES = 40
HEIGHT = 30.0
"""Loss of a spike; the curve lies between 2 and 9."""


def write_run(folder: Path, steps: int, *, spikes: int = SPIKES, seed: int = 1) -> list[int]:
    """Writes recipe.yaml and metrics.jsonl with twelve columns besides `step`; gives the steps with a spike."""
    draw = random.Random(seed)
    folder.mkdir(parents=True)
    (folder / "recipe.yaml").write_text(
        f"task: translation\nlength: {steps} steps\nstep: {{clip: {{kind: global_norm, at: 1.0}}}}\n"
    )
    chosen = sorted(draw.sample(range(steps // 20, steps), spikes))
    odd = set(chosen)
    with open(folder / "metrics.jsonl", "w") as file:
        for step in range(1, steps + 1):
            loss = 2 + 7 * math.exp(-4 * step / steps) + draw.gauss(0, 0.05)
            norm = math.exp(draw.gauss(-0.7, 0.2))
            if step in odd:
                loss, norm = HEIGHT, 50.0
            line = {
                "step": step,
                "target_tokens": draw.randint(480, 512),
                "tokens": draw.randint(900, 1024),
                "micro_batches": 1,
                "fill": round(draw.uniform(0.9, 1), 4),
                "epoch": round(step / 800, 4),
                "loss": loss,
                "objective": loss + 0.3,
                "grad_norm": norm,
                "clipped": norm > 1,
                "skipped": False,
                "learning_rate": 1e-3 * min(step / 1000, (steps - step) / steps),
                "tokens_per_second": round(draw.gauss(90_000, 3000), 1),
                "gpu_memory": 2**33 + draw.randint(0, 2**20),
                "data_wait": round(abs(draw.gauss(0, 0.01)), 4),
                "seconds": round(step * 0.011, 3),
            }
            file.write(json.dumps(line) + "\n")
    return chosen


def spikes_in_points(run: object, chosen: list[int]) -> int:
    """How many of the spikes are the highest value of the point that holds their step."""
    from trimtab.report.series import points_of, steps_per_point

    loss = run.steps.column("loss")
    width = steps_per_point(len(loss))
    points = points_of(loss, width)
    highest = points.mean if points.highest is None else points.highest
    return sum(bool(highest[(step - 1) // width] == HEIGHT) for step in chosen)


READY_JS = "() => document.documentElement.dataset.ready"
NEAR_JS = "() => document.getElementById('chart-loss').scrollIntoView()"
LOSS_JS = """(steps) => {
  const chart = trimtabPage.charts.get("loss"), u = chart.plot, context = u.ctx;
  const [low, high] = [u.valToPos(HEIGHT * 0.97, "y", true), u.valToPos(HEIGHT, "y", true)];
  return steps.map((step) => {
    const x = Math.round(u.valToPos(step, "x", true));
    const {data} = context.getImageData(x - 3, Math.floor(high) - 1, 7, Math.ceil(low - high) + 2);
    let drawn = 0;
    for (let i = 0; i < data.length; i += 4) if (data[i + 3] > 60 && data[i + 2] - data[i] > 40) drawn++;
    return drawn;
  });
}""".replace("HEIGHT", str(HEIGHT))
"""Blue pixels at the height of a spike, within three columns of its step."""


def on_the_page(page_file: Path, chosen: list[int], chromium: str) -> dict[str, object]:
    """What a browser shows: milliseconds until every control works, those that its thread spent on the CPU, which
    other processes do not change, and spikes whose pixels are there."""
    from playwright.sync_api import sync_playwright

    flags = (
        "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking"
    )
    flags += " --disable-component-update --disable-sync"
    ready, busy = [], []
    with sync_playwright() as tool:
        for attempt in range(3):
            with tempfile.TemporaryDirectory() as profile:
                context = tool.chromium.launch_persistent_context(
                    profile,
                    executable_path=chromium,
                    args=flags.split(),
                    viewport={"width": 1280, "height": 900},
                )
                page = context.new_page()
                requests: list[str] = []
                page.on("request", lambda each, seen=requests: seen.append(each.url))
                page.set_default_timeout(120_000)
                tools = context.new_cdp_session(page)
                tools.send("Performance.enable", {"timeDomain": "threadTicks"})
                page.goto(page_file.as_uri())
                page.wait_for_function(READY_JS)
                ready.append(int(page.evaluate(READY_JS)))
                metrics = tools.send("Performance.getMetrics")["metrics"]
                busy.append(round(1000 * next(e["value"] for e in metrics if e["name"] == "TaskDuration")))
                page.evaluate(NEAR_JS)
                page.wait_for_function(
                    "() => trimtabPage.charts.get('loss').plot && !trimtabPage.charts.get('loss').isStale"
                )
                page.wait_for_timeout(300)
                drawn = page.evaluate(LOSS_JS, chosen) if attempt == 0 else drawn
                others = [each for each in requests if not each.startswith(("file:", "data:", "blob:"))]
                context.close()
    return {
        "ready_ms": ready,
        "main_thread_cpu_ms": busy,
        "spikes_on_pixels": sum(each > 0 for each in drawn),
        "requests_elsewhere": len(others),
    }


def spikes_in_tensorboard(folder: Path, chosen: list[int]) -> int | None:
    """How many of the spikes TensorBoard still has of the same loss, with its default reservoir; None without it."""
    try:
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
        from tensorboard.compat.proto.event_pb2 import Event
        from tensorboard.compat.proto.summary_pb2 import Summary
        from tensorboard.summary.writer.event_file_writer import EventFileWriter
    except ImportError:
        return None
    writer = EventFileWriter(str(folder / "tensorboard"))
    with open(folder / "run" / "metrics.jsonl") as file:
        for number, line in enumerate(file, start=1):
            value = Summary.Value(tag="loss", simple_value=json.loads(line)["loss"])
            writer.add_event(Event(step=number, wall_time=float(number), summary=Summary(value=[value])))
    writer.close()
    # What the server keeps of a tag for its charts: `--samples_per_plugin scalars=1000` by default.
    kept = EventAccumulator(str(folder / "tensorboard"), size_guidance={"scalars": 1000})
    kept.Reload()
    seen = {each.step for each in kept.Scalars("loss")}
    return sum(step in seen for step in chosen)


def measured(folder: Path, chosen: list[int], chromium: str) -> dict[str, object]:
    """The figures of the run in `folder/run`, whose report is written beside it."""
    from trimtab.report.page import write_page
    from trimtab.report.run_data import open_run

    clock, started = time.process_time(), time.perf_counter()
    run = open_run(folder / "run")
    read = time.perf_counter()
    size = write_page([run], folder / "report.html")
    found: dict[str, object] = {
        "steps": run.steps.num_rows,
        "curves": 12,
        "report_bytes": size,
        "metrics_bytes": (folder / "run" / "metrics.jsonl").stat().st_size,
        "read_s": round(read - started, 2),
        "write_s": round(time.perf_counter() - read, 2),
        "cpu_s": round(time.process_time() - clock, 2),
        "spikes": len(chosen),
        "spikes_in_points": spikes_in_points(run, chosen),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.0f}, "
        f"Python {platform.python_version()}",
    }
    if Path(chromium).exists():
        found |= on_the_page(folder / "report.html", chosen, chromium)
    found["spikes_in_tensorboard"] = spikes_in_tensorboard(folder, chosen)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--keep", type=Path, help="folder for the run and its report")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as spare:
        folder = given.keep or Path(spare)
        chosen = write_run(folder / "run", given.steps)
        text = json.dumps(measured(folder, chosen, given.chromium), indent=1)
    print(text)
    if given.out:
        given.out.write_text(text + "\n")


if __name__ == "__main__":
    main()
