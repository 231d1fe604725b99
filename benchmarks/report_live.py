"""How long after a step its numbers are on the live page, while a real run trains on the CPU beside the browser.

python benchmarks/report_live.py [--minutes 2] [--chromium /usr/bin/chromium] [--out benchmarks/report_live.json]

The run is that of `trimtab demo` in a process of its own, which writes down when each step was over. The page says when
it shows the newest one. The lag of a step is the time until the page shows it or a later one.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
SEEN_JS = """() => {
  window.seen = [];
  const look = () => window.seen.push([+document.documentElement.dataset.newest, Date.now() / 1000]);
  new MutationObserver(() => requestAnimationFrame(look)).observe(
    document.documentElement, {attributes: true, attributeFilter: ["data-newest"]});
}"""


def train(run: Path, times: Path, minutes: float) -> None:
    """Trains as the demo does, and notes when each step was over."""
    import trimtab
    from trimtab.demo.run import demo_recipe, sample

    class Noting:
        """See `trimtab.progress.Progress`."""

        def __init__(self) -> None:
            self.file = open(times, "w", buffering=1)  # noqa: SIM115

        def step(self, metrics: dict[str, Any], **_: Any) -> None:
            self.file.write(f"{metrics['step']} {time.time()}\n")

        def message(self, text: str) -> None: ...

        def evaluation(self, scores: dict[str, Any]) -> None: ...

        def finding(self, finding: Any) -> None: ...

    with sample() as data:
        trimtab.train(demo_recipe(data, minutes), out=run, progress=Noting())


def lags(times: list[tuple[int, float]], seen: list[tuple[int, float]]) -> list[float]:
    """For each step after the page was first seen, the seconds until the page showed it or a later one."""
    found, at = [], 0
    for step, over in times:
        while at < len(seen) and seen[at][0] < step:
            at += 1
        if at < len(seen) and over >= seen[0][1]:
            found.append(seen[at][1] - over)
    return found


def watched(folder: Path, minutes: float, chromium: str) -> dict[str, object]:
    """The figures of one run."""
    from playwright.sync_api import sync_playwright

    from trimtab.report.run_data import is_run
    from trimtab.report.watch import start_watching

    run, times = folder / "run", folder / "times"
    command = [sys.executable, __file__, "--train", str(run), str(times), "--minutes", str(minutes)]
    trainer = subprocess.Popen(command)
    while not is_run(run) or not times.exists() or times.stat().st_size == 0:
        if trainer.poll() is not None:
            raise SystemExit("the run ended before its first step")
        time.sleep(0.2)
    with start_watching(run, port=0) as server, sync_playwright() as tool:
        context = tool.chromium.launch_persistent_context(
            str(folder / "profile"), executable_path=chromium, args=list(FLAGS)
        )
        page = context.new_page()
        asked: list[str] = []
        page.on("request", lambda each: asked.append(each.url))
        page.goto(server.url)
        page.wait_for_function("() => document.documentElement.dataset.ready")
        page.evaluate(SEEN_JS)
        while trainer.poll() is None:
            page.wait_for_timeout(500)
        page.wait_for_timeout(2000)
        seen = [(int(step), float(at)) for step, at in page.evaluate("() => window.seen")]
        context.close()
        own = server.url
    lines = [line.split() for line in times.read_text().splitlines()]
    found = sorted(lags([(int(step), float(at)) for step, at in lines], seen))
    if not found:
        raise SystemExit(
            "the page saw no step: train for longer (--minutes), or on a machine that is less busy"
        )
    elsewhere = [each for each in asked if not each.startswith((own, "data:", "blob:"))]
    return {
        "steps": len(found),
        "updates_of_the_page": len(seen),
        "lag_median_s": round(found[len(found) // 2], 3),
        "lag_99th_percentile_s": round(found[int(len(found) * 0.99)], 3),
        "lag_longest_s": round(found[-1], 3),
        "requests": len(asked),
        "requests_elsewhere": len(elsewhere),
        "minutes": minutes,
        "machine": f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.0f}, "
        f"Python {platform.python_version()}",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=2.0)
    parser.add_argument("--chromium", default="/usr/bin/chromium")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--train", nargs=2, type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.train:
        train(*given.train, given.minutes)
        return
    with tempfile.TemporaryDirectory() as spare:
        text = json.dumps(watched(Path(spare), given.minutes, given.chromium), indent=1)
    print(text)
    if given.out:
        given.out.write_text(text + "\n")


if __name__ == "__main__":
    main()
