"""`python -m daemon` is `soul`."""

from daemon.cli import main

main()
