"""Personal data: the archive of a user (`export`, `archive`), and the deletion of accounts (`erasure`)."""
