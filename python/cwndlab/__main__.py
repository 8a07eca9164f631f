"""`python -m cwndlab` is `cwndlab`."""

from cwndlab.cli import main

if __name__ == "__main__":
    main()
