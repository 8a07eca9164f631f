"""Import of measurements made with other tools: iperf3, `ss`, captures, Web100 and CSV logs."""

from cwndlab.imports.folder import ImportRequest, ImportSummary, import_folder

__all__ = ["ImportRequest", "ImportSummary", "import_folder"]
