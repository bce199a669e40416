"""The learners that can be trained, and the interfaces that they implement."""
