"""Journeys: people in the local workspace talk with whole daemons; everything but the model is real."""
