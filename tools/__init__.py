"""What sets the project up and checks it; run from the project's root as `python -m tools.NAME`."""
