"""An old vendor back office with difference bills: the system that agents write to in demos and tests.

It stands for a foreign system. It imports nothing from outside this folder and knows nothing of who drives it.
"""
