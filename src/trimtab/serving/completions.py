"""`/v1/completions`: the interface of OpenAI for language models, as many tools speak it."""

import secrets
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from trimtab.decode.continuation import Continuation, Stop
from trimtab.decode.generation_config import GenerationConfig
from trimtab.decode.sampling import Sampling
from trimtab.inference.written_together import TextPart, WantedText
from trimtab.serving.answers import END, events, json_answer, made_of, wholes
from trimtab.serving.batcher import Batcher, Work
from trimtab.serving.connection import Answer, Events
from trimtab.serving.fields import Fields
from trimtab.serving.limits import ServeLimits
from trimtab.serving.models import ServedGenerator
from trimtab.serving.refused import Refused, json_bytes, refused
from trimtab.serving.texts import SAMPLING_KEYS, sampling_of, text_work

KEYS = ("model", "prompt", "max_tokens", "n", *SAMPLING_KEYS, "stop", "stream", "stream_options", "echo")
IGNORED = ("user", "store", "metadata", "service_tier")
"""Labels for the provider's own books."""
WITHOUT_EFFECT: dict[str, tuple[Any, ...]] = {
    "best_of": (1,),
    "frequency_penalty": (0,),
    "presence_penalty": (0,),
    "logit_bias": ({},),
    "suffix": ("",),
    "logprobs": (),
}
"""Keys that are not supported, with the values at which they change nothing."""
USUAL_TOKENS = 16
"""`max_tokens` of OpenAI's interface where it is not given."""
FINISHED: dict[Stop, str] = {"end": "stop", "stop": "stop", "max_tokens": "length", "window": "length"}


@dataclass(frozen=True, slots=True)
class CompletionRequest:
    """What is asked for."""

    name: str
    """Of the model."""
    id: str
    created: int
    streams: bool
    echo: bool
    counts_usage: bool
    """Whether a stream ends with the numbers of tokens."""


def completion_work(
    model: ServedGenerator, given: dict[str, Any], limits: ServeLimits, *, name: str
) -> tuple[Work, CompletionRequest]:
    """The texts that a request wants. Tokenizes, so it belongs in a thread."""
    for key, harmless in WITHOUT_EFFECT.items():
        if given.get(key) is not None and given[key] not in harmless:
            raise _unsupported(key)
    fields = Fields(given, known=KEYS, ignored=(*IGNORED, *WITHOUT_EFFECT))
    if (asked := fields.text("model")) is not None and asked != name:
        raise _not_served(asked, name)
    prompts = fields.text_or_texts("prompt")
    if prompts is None:
        raise refused(
            400, "prompt: missing", got="none", allowed="a string, or a list of strings", fix="give one"
        )
    sampling = sampling_of(fields, usual=Sampling(seed=secrets.randbelow(2**63)))
    max_tokens, samples = fields.whole("max_tokens"), fields.whole("n")
    generation = GenerationConfig(
        max_tokens=USUAL_TOKENS if max_tokens is None else max_tokens,
        samples=1 if samples is None else samples,
        sampling=sampling,
        stop=tuple(fields.text_or_texts("stop") or ()),
    )
    request = CompletionRequest(
        name,
        f"cmpl-{secrets.token_hex(12)}",
        int(time.time()),
        fields.flag("stream"),
        fields.flag("echo"),
        _wants_usage(fields.given.get("stream_options")),
    )
    return text_work(model, prompts, generation, streams=request.streams, limits=limits), request


async def complete(batcher: Batcher, work: Work, request: CompletionRequest) -> Answer | Events:
    """The texts that are in the queue as a completion, or as a stream of parts of one."""
    wanted: list[WantedText] = list(work.contents)
    if request.streams:
        return events(batcher, work, _parts(work, request, wanted=wanted))
    texts: list[Continuation] = await wholes(batcher, work)
    choices = [
        _choice(index, text.whole if request.echo else text.text, FINISHED[text.stopped])
        for index, text in enumerate(texts)
    ]
    usage = _usage(wanted, sum(text.num_tokens for text in texts))
    return json_answer(_object(request, choices) | {"usage": usage})


async def _parts(work: Work, request: CompletionRequest, *, wanted: list[WantedText]) -> AsyncIterator[bytes]:
    if request.echo:
        for index, each in enumerate(wanted):
            yield json_bytes(_object(request, [_choice(index, each.row.prompt, None)]))
    num_tokens = 0
    async for made in made_of(work):
        result: TextPart | Continuation = made.result
        if isinstance(result, TextPart):
            choice = _choice(made.piece.place, result.text, None)
        else:
            num_tokens += result.num_tokens
            choice = _choice(made.piece.place, "", FINISHED[result.stopped])
        yield json_bytes(_object(request, [choice]))
    if request.counts_usage:
        yield json_bytes(_object(request, []) | {"usage": _usage(wanted, num_tokens)})
    yield END


def models_answer(name: str) -> Answer:
    """`/v1/models`: the one model that is served."""
    return json_answer({"object": "list", "data": [_model(name)]})


def model_answer(name: str, *, asked: str) -> Answer:
    """`/v1/models/NAME`: the model itself. Raises Refused for another name."""
    if asked != name:
        raise _not_served(asked, name)
    return json_answer(_model(name))


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "owned_by": "trimtab"}


def _not_served(asked: str, name: str) -> Refused:
    return refused(
        404, "model: not served here", got=asked, allowed=name, fix=f"name {name}, or leave it out"
    )


def no_chat(name: str) -> Refused:
    """Why there are no chat completions: a run has no chat template."""
    return refused(
        404,
        f"/v1/chat/completions: {name} has no chat template",
        got="messages, which nothing says how to write as one text",
        allowed="/v1/completions with a prompt",
        fix="write the conversation as the model was trained on it, and send it as `prompt`; a run on `messages` was "
        "trained on ChatML: <|im_start|>user\\n...<|im_end|>\\n<|im_start|>assistant\\n",
    )


def _object(request: CompletionRequest, choices: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "id": request.id,
        "object": "text_completion",
        "created": request.created,
        "model": request.name,
        "choices": choices,
    }


def _choice(index: int, text: str, finish_reason: str | None) -> dict[str, Any]:
    return {"index": index, "text": text, "logprobs": None, "finish_reason": finish_reason}


def _usage(wanted: list[WantedText], num_tokens: int) -> dict[str, int]:
    """Each prompt counts once, its start symbol included."""
    prompts = sum(len(each.row.ids) for each in wanted if each.sample == 0)
    return {
        "prompt_tokens": prompts,
        "completion_tokens": num_tokens,
        "total_tokens": prompts + num_tokens,
    }


def _wants_usage(options: Any) -> bool:
    if options is None:
        return False
    if not isinstance(options, dict):
        raise refused(
            400,
            "stream_options: is of another type",
            got=type(options).__name__,
            allowed="an object",
            fix='give {"include_usage": true}, or leave it out',
        )
    return options.get("include_usage") is True


def _unsupported(key: str) -> Refused:
    return refused(
        400,
        f"{key}: not supported",
        got=key,
        allowed=", ".join(KEYS),
        fix="leave it out",
    )
