"""Run studies, read results and draw plots from Python scripts and notebooks."""
