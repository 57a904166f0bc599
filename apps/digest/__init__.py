"""A weekly mail with what members missed, for those who want it."""
