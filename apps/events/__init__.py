"""Events from apps to those that depend on them, recorded in the transaction of a change and dispatched afterwards."""
