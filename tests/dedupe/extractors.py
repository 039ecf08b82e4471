"""An extractor that kills its worker, hangs or raises an error."""

from __future__ import annotations

import os
import signal


def deadly(html: str) -> str:
    if "DIE" in html:
        os.kill(os.getpid(), signal.SIGKILL)
    if "RAISE" in html:
        raise ValueError("no")
    if "EXIT" in html:
        raise SystemExit
    while "HANG" in html:
        pass
    return html.replace("<html><p>", "").replace("</p></html>", "")
