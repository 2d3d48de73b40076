"""What is kept of nights: which slots are done, what each run changed, and how it is undone."""
