"""What the learning algorithms share: parameters, events, monitors, runs."""
