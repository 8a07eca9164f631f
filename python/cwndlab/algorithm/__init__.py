"""An algorithm's page, its check and its skeleton: the commands of `cwndlab algorithm`."""
