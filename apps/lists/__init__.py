"""Lists: groups of people whom somebody follows, to be read by themselves. Nobody learns of being in one."""
