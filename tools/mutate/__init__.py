"""Breaks one mechanism after another and sees whether the test that its row of docs/requirements.md names notices."""
