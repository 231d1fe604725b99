"""The page at `/`: a box to type in, in one file that loads nothing from anywhere."""

import base64
import hashlib
from importlib.resources import files

from trimtab.serving.connection import Answer

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
