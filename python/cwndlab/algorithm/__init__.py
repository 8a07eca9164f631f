"""The commands of `cwndlab algorithm`: show an algorithm, check it, and write a template."""
