"""What model calls may cost and have cost: reservations, the sums of a day, and the caps that both are held against."""
