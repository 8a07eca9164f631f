"""The test cases that a draft defines for an algorithm, run and judged by observable behaviour."""
