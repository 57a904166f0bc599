"""Whether the site keeps its promises: an oracle, an auditor that compares the site with it, and explanations."""
