"""The Python API, with which scripts and notebooks run studies, read results and draw plots."""
