"""Measurements that others made, as results: iperf3, `ss`, captures, logs of Web100 and CSV."""

from cwndlab.imports.folder import ImportRequest, ImportSummary, import_folder

__all__ = ["ImportRequest", "ImportSummary", "import_folder"]
