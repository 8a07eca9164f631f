"""Show results in a browser, through a server that only this computer can reach."""
