"""Pages for checking the site: explanations of home, recomputed and earlier home pages, and the auditor's report."""
