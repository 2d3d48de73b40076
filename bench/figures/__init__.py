"""The figures, one file for each; `measure` takes the bench and gives rows."""
