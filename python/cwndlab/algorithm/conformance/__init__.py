"""Test cases that a draft gives for an algorithm, run on paths and judged by what is seen."""
