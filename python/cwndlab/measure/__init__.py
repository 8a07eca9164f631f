"""Live measurement: a server (`cwndlab serve`), and studies that measure to and from it."""
