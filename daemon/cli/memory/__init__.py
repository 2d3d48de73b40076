"""The commands of `soul memory`."""
