"""Pages by which people check the site: why a post is on home, home compared or as it was, the auditor's report."""
