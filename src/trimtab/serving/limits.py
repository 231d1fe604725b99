"""How much a server takes at once, and how long it waits for anybody."""

from dataclasses import dataclass

from trimtab.arguments import real_number, whole_number, wrong


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeLimits:
    """Limits of a server; a request beyond one of them is refused with an error that names it."""

    max_body: int = 1_000_000
    """Bytes of a request's body."""
    max_lines: int = 1000
    """Lines of a request; for a language model texts: prompts times samples."""
    max_characters: int = 10_000
    """Of a line or prompt."""
    max_queue: int = 4096
    """Lines that wait for the model, of all requests together."""
    max_connections: int = 512
    timeout_s: float = 120.0
    """Longest time from a whole request to its whole answer."""
    receive_timeout_s: float = 10.0
    """Longest time in which a client sends its request, or takes a part of the answer."""
    idle_timeout_s: float = 60.0
    """How long a connection without a request stays open."""
    stop_timeout_s: float = 30.0
    """How long running requests may take when the server stops."""

    def __post_init__(self) -> None:
        for name in ("max_body", "max_lines", "max_characters", "max_queue", "max_connections"):
            whole_number(getattr(self, name), name=name, least=1, fix="leave it out for the default")
        for name in ("timeout_s", "receive_timeout_s", "idle_timeout_s", "stop_timeout_s"):
            real_number(
                getattr(self, name), name=name, above=0.0, most=86_400.0, fix="give seconds, such as 60"
            )
        if self.max_queue < self.max_lines:
            raise wrong(
                "max_queue",
                "shorter than one request may be",
                got=f"max_queue {self.max_queue}, max_lines {self.max_lines}",
                allowed="at least max_lines",
                fix="raise max_queue, or lower max_lines",
            )
