"""The set-up, the lock and the import contracts."""
