"""`trimtab serve`: a trained model behind HTTP, for programs and for a page to type in."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from trimtab.cli.arguments import (
    DEFAULT_BEAM,
    BatchTokens,
    Beam,
    Device,
    LengthPenalty,
    MaxLength,
    Model,
    Tag,
    Threads,
)
from trimtab.cli.numbers import Range, number_option
from trimtab.cli.search_options import StopRule

if TYPE_CHECKING:
    from trimtab.serving.routes import Service
    from trimtab.serving.server import RunningServer

Port = Annotated[
    int,
    number_option(
        "--port", Range(least=0, most=65_535), help="Port; 0 picks a free one.", fix="8080 is usual"
    ),
]
Host = Annotated[
    str,
    typer.Option(
        metavar="ADDRESS", help="Address to listen on; 0.0.0.0 lets other machines in, unencrypted."
    ),
]
AllowHost = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME",
        help="A name under which the server may be called, besides localhost and addresses; repeatable.",
    ),
]
Window = Annotated[
    float,
    number_option(
        "--window-ms",
        Range(least=0, most=1000, whole=False),
        help="How long the first line of a batch waits for those of other requests.",
        fix="5 is usual; 0 waits for none",
    ),
]
Timeout = Annotated[
    float,
    number_option(
        "--timeout",
        Range(least=0.1, most=86_400, whole=False),
        help="Longest time for an answer, in seconds.",
        fix="120 is usual",
    ),
]


def _limit(flag: str, help: str) -> object:
    return number_option(flag, Range(least=1), help=help, fix="leave it out for the default")


MaxBody = Annotated[int, _limit("--max-body", "Largest body of a request, in bytes.")]
MaxLines = Annotated[int, _limit("--max-lines", "Most lines, or texts, of a request.")]
MaxCharacters = Annotated[int, _limit("--max-characters", "Most characters of a line or prompt.")]
MaxQueue = Annotated[int, _limit("--max-queue", "Most lines that wait, of all requests together.")]
MaxConnections = Annotated[int, _limit("--max-connections", "Most connections at once.")]


def serve(
    run: Model,
    host: Host = "127.0.0.1",
    port: Port = 8080,
    beam: Beam = None,
    length_penalty: LengthPenalty = 1.0,
    stop: StopRule = "exact",
    tag: Tag = None,
    device: Device = None,
    threads: Threads = None,
    batch_tokens: BatchTokens = None,
    max_length: MaxLength = None,
    window_ms: Window = 5.0,
    timeout: Timeout = 120.0,
    max_body: MaxBody = 1_000_000,
    max_lines: MaxLines = 1000,
    max_characters: MaxCharacters = 10_000,
    max_queue: MaxQueue = 4096,
    max_connections: MaxConnections = 512,
    allow_host: AllowHost = None,
) -> None:
    """Serve a model on localhost: JSON over HTTP, and a page to type in.

    Open its address in a browser, or run `curl localhost:8080/translate --json '{"lines": ["The boat is red."]}'`.
    Requests of several clients share batches. Ctrl-C finishes running requests and stops.
    """
    # Importing torch and reading a large model take a while; a port that is closed so long looks like a failure.
    print(f"reading {run}", file=sys.stderr, flush=True)
    from trimtab.serving.limits import ServeLimits
    from trimtab.serving.models import ServeOptions
    from trimtab.serving.serve import serve as serve_until_stopped

    options = ServeOptions(
        beam=DEFAULT_BEAM if beam is None else beam,
        length_penalty=length_penalty,
        stop=stop,
        tags=tuple(tag or ()),
        device=device,
        threads=threads,
        batch_tokens=batch_tokens,
        max_length=max_length,
        window_ms=window_ms,
    )
    limits = ServeLimits(
        max_body=max_body,
        max_lines=max_lines,
        max_characters=max_characters,
        max_queue=max_queue,
        max_connections=max_connections,
        timeout_s=timeout,
    )
    serve_until_stopped(
        run,
        host=host,
        port=port,
        options=options,
        limits=limits,
        allow_hosts=allow_host or (),
        ready=lambda server: _tell(server, run),
    )


def _tell(server: "RunningServer[Service]", run: str) -> None:
    print(f"{run} {server.service.model.does} at {server.url}   (Ctrl-C stops)", file=sys.stderr, flush=True)
