"""`usmp.explain`: why a model needs the memory that it does, and what would reduce it."""

from usmp.explanation.explain import Explanation as Explanation
from usmp.explanation.explain import explain as explain
