"""A weekly mail with the posts that members missed, for those who subscribe."""
