"""Pages for checking the site: explanations of home pages, recomputed and past home pages, and the auditor's report."""
