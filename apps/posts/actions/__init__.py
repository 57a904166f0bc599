"""What changes posts: publish, edit, schedule, mute a thread; drafts are checked first."""
