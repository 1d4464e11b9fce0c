"""End to end: few, in a real browser, against the sandbox's portal."""
