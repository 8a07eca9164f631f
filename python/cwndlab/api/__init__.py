"""The Python API: studies, results and plots."""
