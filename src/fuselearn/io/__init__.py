"""Models that leave the notebook: files that are safe to load, and ONNX."""
