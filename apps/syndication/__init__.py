"""What feed readers and other sites show of public posts: feeds, and pictures of posts that have none."""
