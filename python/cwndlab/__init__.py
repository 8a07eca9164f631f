"""cwndlab: which TCP congestion control should I use on this wireless network, and how sure are we?

```python
import cwndlab as cw

study = cw.Study(link="rate=10 Mbit/s,delay=20 ms", algorithm=["reno", "cubic"], repetitions=10)
results = study.run()
results.flows()
```
"""

from cwndlab.api.results import Results, open_results
from cwndlab.api.study import Study
from cwndlab.errors import CwndlabError

__all__ = ["CwndlabError", "Results", "Study", "open_results"]
