"""Run `cwndlab` as a command; `python -m cwndlab` does the same."""

import signal

# While the command line is being imported, Ctrl-C ends the process at once: no run has begun.
signal.signal(signal.SIGINT, signal.SIG_DFL)

from cwndlab.cli import main  # noqa: E402  see above

if __name__ == "__main__":
    main()
