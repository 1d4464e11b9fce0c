"""The practice form: a change of address that a model sends, on a real page or in memory."""
