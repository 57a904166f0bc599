"""Breaks one mechanism after another, to see whether the test named in its row of docs/requirements.md fails."""
