"""Implement `cwndlab algorithm`: describe and check algorithms, and write a template."""
