"""`usmp.explain`: why a model needs the memory that it does, and what would reduce it."""

# Import TVM as a whole, because an import of its modules does not wait for other threads.
import tvm  # noqa: F401

from usmp.explanation.explanation import Explanation as Explanation
from usmp.explanation.explanation import explain as explain
from usmp.explanation.suggestions import Suggestion as Suggestion
