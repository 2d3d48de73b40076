"""Tools that servers of the Model Context Protocol offer: adapters that know ports and values, never the mind."""
