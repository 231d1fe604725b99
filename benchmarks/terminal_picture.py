"""The panel of `trimtab train` as a picture, made of the logs of a run: docs/images/terminal_panel.svg.

python benchmarks/terminal_picture.py runs/my --step 900 --out docs/images/terminal_panel.svg
"""

import argparse
import io
from pathlib import Path

from rich.console import Console
from rich.text import Text

from trimtab.checkpoint.journal import read_journal
from trimtab.cli.console import evaluation_line
from trimtab.cli.live_panel import Numbers, panel_lines
from trimtab.metrics.catalogue import METRICS


def numbers_at(run: Path, step: int) -> tuple[Numbers, list[str]]:
    """What the panel had shown at a step, and the lines above it."""
    numbers, above, clips, skips = Numbers(), [], 0, 0
    lines = list(read_journal(run / "metrics.jsonl"))
    for line in lines:
        if line["step"] > step:
            break
        clips, skips = clips + bool(line.get("clipped")), skips + bool(line.get("skipped"))
        numbers.course.add(line["loss"])
        numbers.metrics = line | {"clips": clips, "skips": skips}
    numbers.share = step / lines[-1]["step"]
    numbers.seconds_left = lines[-1]["seconds"] - numbers.metrics["seconds"]
    for scores in read_journal(run / "evaluations.jsonl"):
        if scores["step"] <= step and any(name.name in scores for name in METRICS):
            numbers.scores[scores["set"]] = scores
            above.append(evaluation_line(scores))
    for sample in read_journal(run / "samples.jsonl"):
        if sample["step"] <= step and sample["step"] != numbers.sample.get("step"):
            numbers.sample = sample
    return numbers, above


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("--step", type=int, required=True)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    numbers, above = numbers_at(given.run, given.step)
    console = Console(
        record=True, width=100, file=io.StringIO(), force_terminal=True, color_system="standard"
    )
    console.print(Text("$ trimtab train my.yaml", style="bold"))
    for line in above:
        console.print(Text(line))
    for line in panel_lines(numbers, 99, 23):
        console.print(line, soft_wrap=True)
    console.save_svg(str(given.out), title="trimtab train")
    print(f"{given.out}: {given.out.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
