"""Which path does what. No path is a file, so none leads out of anywhere."""

import asyncio
import base64
import hashlib
from collections.abc import Collection
from dataclasses import dataclass, field
from importlib.resources import files
from typing import assert_never
from urllib.parse import unquote

from trimtab.serving.batcher import Batcher
from trimtab.serving.completions import complete, completion_work, model_answer, models_answer, no_chat
from trimtab.serving.connection import Answer, Events, Request
from trimtab.serving.counters import Counters
from trimtab.serving.fields import json_object
from trimtab.serving.health import About, health_answer
from trimtab.serving.limits import ServeLimits
from trimtab.serving.models import Served, ServedGenerator, ServedTranslator
from trimtab.serving.native import generate, generation_work, translate, translation_work
from trimtab.serving.origin import check_host, check_origin
from trimtab.serving.refused import Refused, refused

READ, WRITE = ("GET", "HEAD"), ("POST",)
SHARED = {"/": READ, "/health": READ}
OF_TRANSLATORS = {**SHARED, "/translate": WRITE}
OF_LANGUAGE_MODELS = {
    **SHARED,
    "/generate": WRITE,
    "/v1/models": READ,
    "/v1/models/NAME": READ,
    "/v1/completions": WRITE,
    "/v1/chat/completions": WRITE,
}
"""The methods of each path."""
ONE_MODEL = "/v1/models/"
_BEGIN, _END = "<script>", "</script>"


def page_answer() -> Answer:
    """The page; its policy lets a browser run the page's own script, talk to this server, and nothing else."""
    text = (files("trimtab.serving") / "page.html").read_text(encoding="utf-8")
    script = text.partition(_BEGIN)[2].partition(_END)[0]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return Answer(
        body=text.encode(),
        content_type="text/html; charset=utf-8",
        headers={"content-security-policy": policy},
    )


@dataclass
class Service:
    """A served model with all that answers need to know."""

    model: Served
    about: About
    batcher: Batcher
    counters: Counters
    host_names: Collection[str] = ()
    """Names in `Host` that are taken besides localhost and addresses; lower case."""
    is_stopping: bool = False
    page: Answer = field(default_factory=page_answer)

    @property
    def limits(self) -> ServeLimits:
        """What a client may ask for, and how long it may take."""
        return self.about.limits

    def begin(self, loop: asyncio.AbstractEventLoop) -> None:
        """Starts the model's thread."""
        self.batcher.start(loop)

    def end(self) -> None:
        """Stops it."""
        self.batcher.stop()

    async def answer(self, request: Request) -> Answer | Events:
        """The answer to a request. Raises Refused, and InputError for what the model cannot take."""
        check_host(request.headers, names=self.host_names)
        if request.path != "/":  # a link to the page may be anywhere
            check_origin(request.headers)
        self._check_route(request)
        match request.path:
            case "/":
                return self.page
            case "/health":
                return health_answer(
                    self.model,
                    self.about,
                    batcher=self.batcher,
                    counters=self.counters,
                    is_stopping=self.is_stopping,
                )
            case "/v1/models":
                return models_answer(self.about.name)
            case path if (asked := path.removeprefix(ONE_MODEL)) != path:
                return model_answer(self.about.name, asked=unquote(asked))
            case "/v1/chat/completions":
                raise no_chat(self.about.name)
            case _:
                return await self._made(request)

    async def _made(self, request: Request) -> Answer | Events:
        if self.is_stopping:
            raise stopping()
        given, limits, model = json_object(request), self.about.limits, self.model
        if isinstance(model, ServedTranslator):
            work, fields = await asyncio.to_thread(translation_work, model, given, limits)
            self.batcher.submit(work)
            return await translate(self.batcher, work, fields)
        if isinstance(model, ServedGenerator):
            if request.path == "/generate":
                work, fields = await asyncio.to_thread(generation_work, model, given, limits)
                self.batcher.submit(work)
                return await generate(self.batcher, work, fields)
            work, asked = await asyncio.to_thread(completion_work, model, given, limits, name=self.about.name)
            self.batcher.submit(work)
            return await complete(self.batcher, work, asked)
        assert_never(model)

    def _check_route(self, request: Request) -> None:
        routes = OF_TRANSLATORS if isinstance(self.model, ServedTranslator) else OF_LANGUAGE_MODELS
        named = request.path.startswith(ONE_MODEL) and request.path != ONE_MODEL
        methods = routes.get(f"{ONE_MODEL}NAME" if named else request.path)
        if methods is None:
            raise refused(
                404,
                "no such path",
                got=request.path,
                allowed=", ".join(routes),
                fix=self._other(request.path),
            )
        if request.method not in methods:
            raise refused(
                405,
                f"{request.path}: another method is needed",
                got=request.method,
                allowed=" or ".join(methods),
                fix=f"use {methods[0]}",
                headers={"allow": ", ".join(methods)},
            )

    def _other(self, path: str) -> str:
        """What to do where a path belongs to the other kind of model."""
        if isinstance(self.model, ServedTranslator) and path in OF_LANGUAGE_MODELS:
            return "this model translates: send its lines to /translate"
        if path in OF_TRANSLATORS:
            return "this is a language model: send a prompt to /generate or /v1/completions"
        return "use one of these"


def stopping() -> Refused:
    """For requests that come while the server stops."""
    return refused(
        503,
        "the server is stopping",
        got="a new request",
        allowed="requests that were running already",
        fix="try again when it has started again",
        headers={"retry-after": "5"},
    )
