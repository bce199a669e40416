"""The registry of learners, and the protocols that they implement."""
