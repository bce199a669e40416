"""The command line with the toy learner: python toy_main.py muzero2048 train ...

A cluster file whose prefix is "python toy_main.py" starts toys in processes of their own.
"""

import sys

if __name__ == "__main__":
    from launch.cli import main
    from launch.experiment import registry

    registry.LEARNERS["toy"] = "toy"
    sys.exit(main(sys.argv[2:]))
