"""Implement `cwndlab algorithm`: describe and check algorithms, and write templates of new ones."""
