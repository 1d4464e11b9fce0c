"""The tool ladder: a rung performs one decided action and reports; it never chooses (B1, B2)."""
