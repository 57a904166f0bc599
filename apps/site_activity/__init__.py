"""How many posts, logins and new accounts each week had, for directories of sites."""
