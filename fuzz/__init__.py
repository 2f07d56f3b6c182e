"""Coverage-guided fuzzing of every parser of foreign bytes: `python -m fuzz`."""
