"""Events from lower apps to higher ones: recorded in the transaction of the change, dispatched after it."""
