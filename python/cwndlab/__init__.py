"""cwndlab: which TCP congestion control should I use on this wireless network, and how sure are we?

```python
import cwndlab as cw

study = cw.Study(link="rate=10 Mbit/s,delay=20 ms", algorithm=["reno", "cubic"], repetitions=10)
results = study.run()
results.flows()
```
"""

from __future__ import annotations

# Instead of typing.TYPE_CHECKING: importing typing would take most of the time before the command
# line can handle Ctrl-C.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from cwndlab import errors
    from cwndlab.api.advise import Advice, advise
    from cwndlab.api.fitting import fit
    from cwndlab.api.results import Results, open_results
    from cwndlab.api.study import Study
    from cwndlab.errors import CwndlabError

__all__ = ["Advice", "CwndlabError", "Results", "Study", "advise", "errors", "fit", "open_results"]

_MODULES = {  # imported at first use, because importing Polars and pydantic takes nearly a second
    "Advice": "cwndlab.api.advise",
    "CwndlabError": "cwndlab.errors",
    "Results": "cwndlab.api.results",
    "Study": "cwndlab.api.study",
    "advise": "cwndlab.api.advise",
    "fit": "cwndlab.api.fitting",
    "open_results": "cwndlab.api.results",
}


def __getattr__(name: str) -> object:
    """Return the public object `name`, whose module is imported at the first use (PEP 562)."""
    import importlib  # noqa: PLC0415  loads further modules

    if name == "errors":
        return importlib.import_module("cwndlab.errors")
    if name not in _MODULES:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    found: object = getattr(importlib.import_module(_MODULES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """List the public names, including names whose modules have not been imported."""
    return sorted({*globals(), *__all__})
