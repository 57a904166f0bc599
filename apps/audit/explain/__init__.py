"""Why a post is on a page or not: the reasons, the annotated page, the checklist."""
