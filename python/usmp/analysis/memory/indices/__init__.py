"""Values of index expressions over the iterations of loops."""
