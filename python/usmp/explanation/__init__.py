"""`usmp.explain`: why a model needs the memory that it does, and what would reduce it."""

from usmp.explanation.explanation import Explanation as Explanation
from usmp.explanation.explanation import explain as explain
