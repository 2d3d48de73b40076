"""The cost of model calls: reservations, the sums of a day, and the caps on both."""
