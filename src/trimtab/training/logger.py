"""The logs of a training run: metrics, evaluations, samples, health, skipped steps, findings."""

from functools import partial
from typing import Any

from trimtab.checkpoint.durable import replace_file
from trimtab.checkpoint.journal import Journal
from trimtab.checkpoint.run_folder import RunFolder
from trimtab.config.run import Recipe
from trimtab.errors import DiskFull
from trimtab.finding import Finding
from trimtab.progress import HearsSamples, Progress
from trimtab.trackers.tracker import TrackedRun
from trimtab.trackers.trackers import Trackers, flat
from trimtab.training.findings import Findings
from trimtab.types import TrainState


class Logger:
    """The logs of a run folder, and the progress that hears of the same."""

    def __init__(self, folder: RunFolder, progress: Progress, recipe: Recipe | None = None) -> None:
        self.folder, self.progress = folder, progress
        names = recipe.log if recipe is not None and folder.writes else ()
        settings = flat(recipe.model_dump(mode="json")) if recipe is not None and names else {}
        self.trackers = Trackers(names, TrackedRun(folder.path, settings), tell=self.finding)
        self.findings = Findings(folder, progress)
        journal = partial(Journal, tell=self.finding, writes=folder.writes)
        self.metrics = journal(folder.metrics, every_seconds=0.25)  # for those who watch
        self.evaluations = journal(folder.evaluations)
        self.samples = journal(folder.samples)
        self.sentences = journal(folder.sentences)
        self.quarantine = journal(folder.quarantine)
        self.health = journal(folder.health)

    def begin_at(self, state: TrainState) -> None:
        """The run begins, or goes on from a state, for those who keep what was logged."""
        self.trackers.begin_at(state.step)

    def step(self, line: dict[str, Any]) -> None:
        """One line of `metrics.jsonl`."""
        self.metrics.write(line)
        self.trackers.log("train", line["step"], line)

    def look(self, line: dict[str, Any]) -> None:
        """One line of `health.jsonl`."""
        self.health.write(line)
        self.trackers.log("health", line["step"], line)

    def evaluation(self, scores: dict[str, Any]) -> None:
        """One line of `evaluations.jsonl`."""
        self.evaluations.write(scores)
        self.progress.evaluation(scores)
        self.trackers.log(str(scores.get("set", "valid")), scores["step"], scores)

    def sample(self, sample: dict[str, Any]) -> None:
        """One line of `samples.jsonl`."""
        self.samples.write(sample)
        if isinstance(self.progress, HearsSamples):
            self.progress.sample(sample)

    def picture(self, content: bytes, *, step: int) -> None:
        """Writes `samples/step-00000500.png`; a full disk is reported and does not end the run, as with other logs."""
        if not self.folder.writes:
            return
        try:
            self.folder.pictures.mkdir(exist_ok=True)
            replace_file(self.folder.pictures / f"step-{step:08}.png", content)
        except (OSError, DiskFull) as error:
            self.progress.message(f"the samples of step {step} could not be written: {error}")

    def finding(self, finding: Finding) -> None:
        """Writes a finding down and tells it."""
        self.findings.tell(finding)

    def logs_at(self, state: TrainState) -> list[tuple[Journal, int]]:
        """The logs, each with the last step that it had at a state."""
        evaluated = (self.evaluations, self.samples, self.sentences, self.health)
        return [(self.metrics, state.step), *((journal, state.evaluated) for journal in evaluated)]

    @property
    def logs(self) -> tuple[Journal, ...]:
        """All that stay open."""
        evaluated = (self.evaluations, self.samples, self.sentences, self.health)
        return (self.metrics, *evaluated, self.quarantine)

    def flush(self) -> None:
        """Brings the logs to the disk."""
        for journal in self.logs:
            journal.flush()

    def close(self) -> None:
        """Brings them to the disk for good, and the trackers to an end."""
        self.trackers.close()
        for journal in self.logs:
            journal.close()
