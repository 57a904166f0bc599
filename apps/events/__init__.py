"""Events from lower apps to higher ones, recorded in the transaction of a change and dispatched after its commit."""
