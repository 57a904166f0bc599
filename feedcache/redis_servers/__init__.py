"""Redis servers."""
