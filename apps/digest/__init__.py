"""A mail a week with what members missed, for those who want it."""
