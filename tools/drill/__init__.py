"""`./run drill`: a site of its own under load and faults; what it did is compared with what it should have done."""
