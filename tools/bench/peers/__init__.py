"""Other projects' sites that the bench can measure beside ours, from checkouts that the user provides."""
