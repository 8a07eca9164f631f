"""Functions of `cwndlab algorithm`: describe and check an algorithm, and write a template."""
