"""Entry point of the command `cwndlab`, and of its equivalent `python -m cwndlab`."""

# The compiled part of the module signal: signal itself would first import other modules, during
# which Ctrl-C prints a traceback.
import _signal  # type: ignore[import-not-found]

# While the command line is being imported, Ctrl-C ends the process at once: no run has begun.
_signal.signal(_signal.SIGINT, _signal.SIG_DFL)

from cwndlab.cli import main  # noqa: E402  see above

if __name__ == "__main__":
    main()
