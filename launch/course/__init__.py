"""The course: projects for students, and `muzero2048 grade`, which runs their programs (docs/course)."""
