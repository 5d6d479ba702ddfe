"""The one search for the form of a model that takes the least memory.

A `Stage` enumerates the values of one decision and rewrites a module by a value. A `Search` walks
through stages and the passes between them. If a stage has several values, a `Race` plans each of
them and keeps the best. `usmp.aot_pipeline` has the list of the stages of a build.
"""

from usmp.planning.search.choice import Allowance, Choice
from usmp.planning.search.last_module import LastModule
from usmp.planning.search.leaf import Leaf
from usmp.planning.search.race import Race
from usmp.planning.search.search import Search, Searched
from usmp.planning.search.stage import Stage

__all__ = ["Allowance", "Choice", "LastModule", "Leaf", "Race", "Search", "Searched", "Stage"]
