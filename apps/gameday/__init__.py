"""Game days: puts one bounded fault into a staging site, and reports what people and alerts noticed."""
