"""Time and memory, measured and printed, never asserted."""
