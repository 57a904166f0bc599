"""Pages to check the site with: explanations of home, recomputed and earlier home pages, the auditor's report."""
