"""Live measurement: a server (`cwndlab serve`), and studies between it and this machine."""
