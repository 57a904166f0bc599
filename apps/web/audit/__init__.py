"""Pages for checking the site: explanations of the home page, recomputed and past home pages, the auditor's report."""
