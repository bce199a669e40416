"""`python -m launch` runs the command line `muzero2048`."""

import sys

from launch.cli import main

sys.exit(main())
