"""Entry point of `cwndlab` and `python -m cwndlab`."""

import signal

# Ctrl-C while the command line is being imported ends the process immediately: nothing has begun.
signal.signal(signal.SIGINT, signal.SIG_DFL)

from cwndlab.cli import main  # noqa: E402  see above

if __name__ == "__main__":
    main()
