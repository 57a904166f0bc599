"""What is said: posts, replies, reposts, quotes, mentions and their attachments."""
