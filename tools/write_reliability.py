"""Writes docs/reliability.md from the rows of the fault suite, its results, and what guards and checksums cost.

python tools/write_reliability.py
"""

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "reliability.md"
RESULTS = ROOT / "benchmarks" / "fault_suite.json"
GPU = ROOT / "benchmarks" / "gpu_suite.json"
COSTS = (
    ("guards", ROOT / "benchmarks" / "step_speed.json"),
    ("checksums and saves", ROOT / "benchmarks" / "save_pause.json"),
)
sys.path.insert(0, str(ROOT))
from tests.faults.rows import STATES, Row, read_rows  # noqa: E402


def main() -> None:
    """Writes the page where it differs."""
    costs = [(name, recorded(file)) for name, file in COSTS]
    text = page(read_rows(), recorded(RESULTS), costs=costs, gpu=recorded(GPU))
    if not PAGE.exists() or PAGE.read_text(encoding="utf-8") != text:
        PAGE.write_text(text, encoding="utf-8")
        print(f"written: {PAGE.relative_to(ROOT)}")


def recorded(file: Path) -> dict[str, Any] | None:
    """What a measurement wrote; None if it was not made."""
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else None


def page(
    rows: Sequence[Row],
    results: dict[str, Any] | None,
    *,
    costs: Sequence[tuple[str, dict[str, Any] | None]],
    gpu: dict[str, Any] | None = None,
) -> str:
    """The whole page."""
    lines = [
        "# Reliability",
        "",
        "The fault suite (`just faults`) injects faults into real runs. `tools/write_reliability.py` generates this",
        "page from `tests/faults/rows.toml` and from the counts in `benchmarks/fault_suite.json`.",
        "",
        "- *EXACT*: the run ends with the same bits as an undisturbed run.",
        "- *SAFE*: the last committed checkpoint is intact, and the run finds it.",
        "- *SAYS*: the message names the cause, the place and the fix.",
        "",
        "## Results",
        "",
        *summary(results),
        "",
        f"Tests that need a GPU: {on_a_gpu(gpu)}",
        "",
        "## Cost of guards and checksums",
        "",
        *(f"- {name}: {cost(found)}" for name, found in costs),
        "",
        "## All faults",
        "",
        "| | fault | expected | tested | most steps lost |",
        "|---|---|---|---|---|",
        *(row_line(row, results) for row in rows),
        "",
        *remarks(rows),
    ]
    return "\n".join(lines).rstrip() + "\n"


def summary(results: dict[str, Any] | None) -> Iterator[str]:
    """One line for each kind of fault."""
    if results is None:
        yield "Not measured here; `just faults` does."
        return
    totals: dict[str, list[int]] = {}
    for counts in results["tests"].values():
        for each in counts["counts"]:
            total = totals.setdefault(each["kind"], [0, 0])
            total[0] += each["tried"]
            total[1] += each["held"]
    yield "| kind | tried | held |"
    yield "|---|---|---|"
    yield from (f"| {kind} | {tried:,} | {held:,} |" for kind, (tried, held) in sorted(totals.items()))
    seconds = sum(each["seconds"] for each in results["tests"].values())
    yield ""
    yield f"{results['machine']}; torch {results['versions']['torch']}; {seconds / 60:.0f} minutes in all. A corruption"
    yield "held if it was detected, and a healthy run if it had no finding. Any other fault held if the run ended as an"
    yield "undisturbed one or, where it could not continue, gave the reason and lost no checkpoint."


def on_a_gpu(found: dict[str, Any] | None) -> str:
    """How the tests went that CI leaves out."""
    if found is None:
        return "not run"
    counts = ", ".join(f"{count} {outcome}" for outcome, count in sorted(found["outcomes"].items()))
    remark = f"; {found['remark']}" if "remark" in found else ""
    return f"{counts} on one {found['card']}, torch {found['torch']} (`benchmarks/gpu_suite.json`{remark})"


def cost(found: dict[str, Any] | None) -> str:
    """What a measurement says of itself."""
    if found is None:
        return "not measured"
    guard = found.get("presets", {}).get("base", {}).get("guard")
    if guard is None:
        return str(found.get("answer", "see the file"))
    reached = "is reached" if guard["overhead_percent"] < 1 else "is missed"
    return (
        f"{guard['overhead_percent']}% of a step of the base preset on one {found['card']} (rounds: "
        f"{', '.join(map(str, guard['overhead_percent_of_rounds']))}). The goal, 1%, {reached}"
    )


def row_line(row: Row, results: dict[str, Any] | None) -> str:
    """One row of the table."""
    return f"| {row.number} | {row.fault} | {row.right} | {STATES[row.state]} | {steps_lost(row, results)} |"


def steps_lost(row: Row, results: dict[str, Any] | None) -> str:
    """The largest number that a test of the row counted; nothing where none was."""
    lost = [
        number
        for test, found in (results or {"tests": {}})["tests"].items()
        if test.partition("[")[0] in row.tests
        for each in found["counts"]
        for number in each["steps_lost"]
    ]
    return f"{max(lost)}" if lost else ""


def remarks(rows: Sequence[Row]) -> Iterator[str]:
    """What is missing, or not as one would wish."""
    yield "## Known gaps"
    yield ""
    yield from (f"- {row.number}, {row.fault}: {row.note}." for row in rows if row.note)


if __name__ == "__main__":
    main()
