"""`usmp.explain`: why a model needs the memory that it does, and what would reduce it."""

# This waits while another thread loads TVM; an import of one of TVM's modules would not.
import tvm  # noqa: F401

from usmp.explanation.explanation import Explanation as Explanation
from usmp.explanation.explanation import explain as explain
