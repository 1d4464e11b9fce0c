"""What acts on the world and appends to the record: orchestrator, guards, tool ladder, readback, store."""
