"""Import measurements from other tools: iperf3, `ss`, packet captures, Web100 and CSV."""

from cwndlab.imports.folder import ImportRequest, ImportSummary, import_folder

__all__ = ["ImportRequest", "ImportSummary", "import_folder"]
