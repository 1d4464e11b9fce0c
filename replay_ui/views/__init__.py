"""The pages of the desk, one module each: ``page(view)`` shows it."""
