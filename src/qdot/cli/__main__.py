"""`python -m qdot.cli` is `qdot`."""

import sys

from qdot.cli.main import main

if __name__ == "__main__":  # the processes that `doctor` starts import this module again
    sys.exit(main())
