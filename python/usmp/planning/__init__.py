"""Planning: options, facts about a module, candidates, and the session that makes each plan."""
