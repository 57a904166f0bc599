"""Personal data: archives for users (`export`, `archive`), imports (`moving`), and deleted accounts (`erasure`)."""
