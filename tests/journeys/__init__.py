"""Journeys: people in the local workspace talk with whole daemons; everything between is real but the model."""
