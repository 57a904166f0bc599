"""Personal data: archives of a user's data (`export`, `archive`), and the deletion of accounts (`erasure`)."""
