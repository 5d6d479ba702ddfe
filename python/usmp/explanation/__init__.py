"""`usmp.explain`: why a model needs the memory that it does, and what would reduce it."""

import tvm  # noqa: F401  # waits for a thread that loads it; modules of tvm would not

from usmp.explanation.explanation import Explanation as Explanation
from usmp.explanation.explanation import explain as explain
