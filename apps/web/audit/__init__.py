"""Pages for checking the site: explanations of home, home recomputed and of the past, and the auditor's report."""
