"""How people prove who they are: passwords, passkeys, codes, and the sessions that follow."""
