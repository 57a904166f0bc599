"""Checks that pages are correct: an oracle, an auditor that compares the site with it, and explanations."""
