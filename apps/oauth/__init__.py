"""Programs that act for people: applications, their tokens, and what each may do."""
