"""Template filters of translations."""
