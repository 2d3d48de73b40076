"""Named events become log lines at minimal, standard, verbose or debug; secrets are cut out by value."""
