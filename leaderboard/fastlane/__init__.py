"""Score submission and the hot reads, served before Django."""
