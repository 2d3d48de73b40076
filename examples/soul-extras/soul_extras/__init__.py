"""An example of what a package can bring to the Soul Daemon."""
