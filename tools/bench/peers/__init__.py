"""Other projects' sites that the bench can compare with ours, from checkouts that the user provides."""
