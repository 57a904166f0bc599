"""Check that pages are right: an oracle, an auditor that compares the site with it, and explanations."""
