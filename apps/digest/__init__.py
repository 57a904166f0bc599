"""A weekly e-mail with the posts that a member missed, for members who subscribe to it."""
