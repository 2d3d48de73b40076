"""Ten thousand outputs of a model, valid and hostile, through a whole soul: what each may do, and what it did."""
