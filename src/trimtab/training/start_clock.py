"""What the start of a command is spent on, from the first instruction of the process to the first step."""

import os
import time
from dataclasses import dataclass, field


@dataclass(slots=True)
class StartClock:
    """Seconds of one stage after another."""

    mark: float = field(default_factory=time.perf_counter)
    """When the last stage ended."""
    seconds: dict[str, float] = field(default_factory=dict)
    """By the name of the stage."""

    def end(self, stage: str) -> None:
        """The stage is over; what comes now belongs to the next one. A stage that comes again is added up."""
        now = time.perf_counter()
        self.seconds[stage] = self.seconds.get(stage, 0.0) + now - self.mark
        self.mark = now

    def __str__(self) -> str:
        stages = ", ".join(f"{name} {seconds:.1f}" for name, seconds in self.seconds.items())
        return f"started in {sum(self.seconds.values()):.1f} s: {stages}"


_OF_COMMANDS: list[StartClock] = []


def mark_command_start() -> None:
    """Says that the process is a command that has imported what it needs: its age is the first stage of the next start.
    In a script, which may be hours old, a start begins when it is asked for."""
    _OF_COMMANDS[:] = [StartClock(seconds={"imports": age_of_process()})]


def take_start_clock() -> StartClock:
    """The clock of the start that begins now."""
    return _OF_COMMANDS.pop() if _OF_COMMANDS else StartClock()


def age_of_process() -> float:
    """Seconds since the process began, as Linux knows; elsewhere those of its computing so far."""
    try:
        with open("/proc/self/stat", encoding="ascii", errors="replace") as file:
            began = int(file.read().rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
        return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - began)
    except (OSError, ValueError, IndexError, AttributeError):
        return time.process_time()
