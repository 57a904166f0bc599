"""Other people's sites that the bench can measure beside ours, from checkouts that its user names."""
